-- What the places of jobs and the rows of the log tell, in words that stay the same.

-- Jobs with where each stands, as people know them.
{postgres CREATE VIEW holdfast_jobs AS
SELECT
    job.id, job.lifecycle, job.task, job.queue, job.priority,
    coalesce(rest.state, lease.state, ready.state) AS state,
    coalesce(rest.attempt, lease.attempt, ready.attempt) AS attempt,
    coalesce(rest.version, lease.version, ready.version) AS version,
    coalesce(rest.tries, lease.tries, ready.tries) AS tries,
    job.max_tries,
    coalesce(rest.losses, lease.losses, ready.losses) AS losses,
    ready.id IS NOT NULL AS ready,
    coalesce(rest.due_at_ms, lease.due_at_ms, ready.due_at_ms, job.due_at_ms) AS due_at_ms,
    job.lease_ms,
    lease.owner AS lease_owner,
    lease.until_ms AS lease_until_ms,
    job.created_at_ms,
    coalesce(rest.changed_at_ms, lease.changed_at_ms, ready.changed_at_ms) AS changed_at_ms,
    coalesce(rest.started_at_ms, lease.started_at_ms, ready.started_at_ms) AS started_at_ms,
    rest.finished_at_ms,
    coalesce(rest.expires_at_ms, lease.expires_at_ms, ready.expires_at_ms) AS expires_at_ms,
    job.keep_until_ms,
    lease.asked AS cancel_requested,
    job.key_scope, job.key, job.correlation_id, job.trace_id, job.parent_id, job.tags, job.options, job.payload,
    job.payload_digest,
    coalesce(rest.outcome, lease.outcome, ready.outcome) AS outcome,
    rest.outcome_digest,
    lease.token, lease.at, lease.size,
    CASE WHEN ready.id IS NOT NULL THEN ready.due_at_ms ELSE coalesce(rest.due_at_ms, lease.due_at_ms) END AS moved_to_ms,
    coalesce(ready.turn, job.turn) AS turn,
    job.gate,
    coalesce(rest.pos, lease.pos, ready.pos) AS pos,
    job.due_at_ms AS first_due_at_ms, job.expires_at_ms AS first_expires_at_ms
FROM holdfast_job AS job
LEFT JOIN holdfast_rest AS rest ON rest.id = job.id
LEFT JOIN LATERAL (
    SELECT * FROM (
        SELECT own.* FROM holdfast_ready AS own
        WHERE rest.id IS NULL AND own.queue = job.queue AND own.lifecycle = job.lifecycle AND own.state = job.state
            AND own.turn = job.turn AND own.gate = job.gate AND own.due_at_ms = job.due_at_ms AND own.id = job.id
            AND NOT own.moved
        UNION ALL
        SELECT moved.* FROM holdfast_ready AS moved WHERE rest.id IS NULL AND moved.id = job.id AND moved.moved
    ) AS either
    LIMIT 1
) AS ready ON TRUE
LEFT JOIN LATERAL (
    SELECT
        l.token, l.state, l.owner, l.until_ms, l.pos, g.i - 1 AS at, g.size, g.attempts[g.i] AS attempt,
        g.versions[g.i] AS version, g.tries[g.i] AS tries, g.losses[g.i] AS losses, g.dues[g.i] AS due_at_ms,
        coalesce(g.times[g.i], g.at_ms) AS changed_at_ms,
        -- Whose run began with this row has no other time for it.
        CASE
            WHEN g.starts IS NULL AND l.state = 'running' THEN coalesce(g.times[g.i], g.at_ms)
            ELSE g.starts[g.i]
        END AS started_at_ms, g.expiries[g.i] AS expires_at_ms,
        l.asked[g.i] AS asked, g.outcomes[g.i] AS outcome
    FROM (
        SELECT * FROM holdfast_lease
        WHERE rest.id IS NULL AND ready.id IS NULL AND job.id BETWEEN low AND high
        OFFSET 0
    ) AS l
    CROSS JOIN LATERAL (
        SELECT log.*, array_position(log.ids, job.id) AS i, cardinality(log.ids) AS size
        FROM holdfast_log AS log
        WHERE log.pos = l.pos
        OFFSET 0
    ) AS g
    -- Whatever was done to a row: a reader goes on.
    WHERE CASE WHEN g.i <= length(l.gone) THEN get_bit(l.gone, g.i - 1) END = 0
    LIMIT 1
) AS lease ON TRUE;
}{sqlite CREATE VIEW holdfast_jobs AS
SELECT
    job.id, job.lifecycle, job.task, job.queue, job.priority,
    coalesce(rest.state, held.state, own.state, moved.state) AS state,
    coalesce(rest.attempt, held.attempt, own.attempt, moved.attempt) AS attempt,
    coalesce(rest.version, held.version, own.version, moved.version) AS version,
    coalesce(rest.tries, held.tries, own.tries, moved.tries) AS tries,
    job.max_tries,
    coalesce(rest.losses, held.losses, own.losses, moved.losses) AS losses,
    rest.id IS NULL AND held.id IS NULL AS ready,
    coalesce(rest.due_at_ms, held.due_at_ms, moved.due_at_ms, job.due_at_ms) AS due_at_ms,
    job.lease_ms,
    held.owner AS lease_owner,
    held.until_ms AS lease_until_ms,
    job.created_at_ms,
    coalesce(rest.changed_at_ms, held.changed_at_ms, own.changed_at_ms, moved.changed_at_ms) AS changed_at_ms,
    coalesce(rest.started_at_ms, held.started_at_ms, own.started_at_ms, moved.started_at_ms) AS started_at_ms,
    rest.finished_at_ms,
    coalesce(rest.expires_at_ms, held.expires_at_ms, own.expires_at_ms, moved.expires_at_ms) AS expires_at_ms,
    job.keep_until_ms,
    held.asked AS cancel_requested,
    job.key_scope, job.key, job.correlation_id, job.trace_id, job.parent_id, job.tags, job.options, job.payload,
    job.payload_digest,
    coalesce(rest.outcome, held.outcome, own.outcome, moved.outcome) AS outcome,
    rest.outcome_digest,
    coalesce(rest.due_at_ms, held.due_at_ms, moved.due_at_ms) AS moved_to_ms,
    coalesce(own.turn, moved.turn, job.turn) AS turn,
    job.gate,
    coalesce(rest.pos, held.pos, own.pos, moved.pos) AS pos,
    job.due_at_ms AS first_due_at_ms, job.expires_at_ms AS first_expires_at_ms
FROM holdfast_job AS job
LEFT JOIN holdfast_rest AS rest ON rest.id = job.id
LEFT JOIN holdfast_held AS held ON held.id = job.id AND rest.id IS NULL
LEFT JOIN holdfast_ready AS own
    ON own.queue = job.queue AND own.lifecycle = job.lifecycle AND own.state = job.state AND own.turn = job.turn
    AND own.gate = job.gate AND own.due_at_ms = job.due_at_ms AND own.id = job.id AND NOT own.moved
    AND rest.id IS NULL AND held.id IS NULL
LEFT JOIN holdfast_ready AS moved
    ON moved.id = job.id AND moved.moved AND rest.id IS NULL AND held.id IS NULL AND own.id IS NULL;
}
-- Who runs what: a row for each job that somebody holds.
{postgres CREATE VIEW holdfast_member AS
SELECT
    lease.token, member.id, lease.queue, lease.lifecycle, lease.state, lease.gate, lease.owner, lease.until_ms,
    member.attempt, member.losses, member.expires_at_ms, lease.asked[member.i] AS asked
FROM holdfast_lease AS lease
JOIN holdfast_log AS log ON log.pos = lease.pos
CROSS JOIN LATERAL unnest(log.ids, log.attempts, log.losses, log.expiries) WITH ORDINALITY
    AS member (id, attempt, losses, expires_at_ms, i)
WHERE CASE WHEN member.i <= length(lease.gone) THEN get_bit(lease.gone, member.i::integer - 1) END = 0
    AND member.id IS NOT NULL;
}{sqlite CREATE VIEW holdfast_member AS
SELECT id, queue, lifecycle, state, gate, owner, until_ms, attempt, losses, expires_at_ms, asked FROM holdfast_held;
}
-- The log, first events and all: a row for each batch of jobs. Both halves have the same types, or SQLite would read all of
-- them to find some.
CREATE VIEW holdfast_row AS
SELECT
    pos, schema_version, lifecycle, path, at_ms, actor, ids, prevs, attempts, versions, times, reasons, causes, payloads,
    payload_digests, digests
FROM holdfast_log
UNION ALL
SELECT
    pos, CAST(1 AS {smallint}), lifecycle,
    CAST('[[' || {quoted event_type} || ',null,' || {quoted state} || ',0]]' AS text), created_at_ms, actor, {some id},
    {some CAST(NULL AS {bigint})}, {some 1}, {some 1}, {some created_at_ms}, {some reason}, {some cause},
    {some event_payload}, {some {hexed event_payload_digest}}, {some {hexed digest}}
FROM holdfast_job;
-- Events as people know them, one row each; digests as digits.
CREATE VIEW holdfast_events AS
SELECT
    pos, id AS job_id, 1 AS seq, event_type AS type, CAST(NULL AS text) AS from_state, state AS to_state,
    created_at_ms AS at_ms, actor, 1 AS attempt, reason, cause, event_payload AS payload,
    {digits event_payload_digest} AS payload_digest, {digits digest} AS digest, CAST(1 AS {smallint}) AS schema_version
FROM holdfast_job
UNION ALL
{postgres SELECT
    log.pos + (member.i - 1) * steps.count + step.n - 1, member.id, member.version - steps.count + step.n::integer,
    step.value ->> 0, step.value ->> 1, step.value ->> 2, coalesce(member.time, log.at_ms), log.actor,
    member.attempt - (step.value ->> 3)::integer,
    member.reason, member.cause,
    CASE WHEN step.n = steps.count THEN member.payload END,
    CASE WHEN step.n = steps.count THEN encode(member.payload_digest, 'hex') END,
    CASE WHEN step.n = steps.count THEN encode(member.digest, 'hex') END, log.schema_version
FROM holdfast_log AS log
CROSS JOIN LATERAL (SELECT json_array_length(log.path::json) AS count) AS steps
CROSS JOIN LATERAL json_array_elements(log.path::json) WITH ORDINALITY AS step (value, n)
CROSS JOIN LATERAL unnest(
    log.ids, log.attempts, log.versions, log.times, log.reasons, log.causes, log.payloads, log.payload_digests,
    log.digests
) WITH ORDINALITY AS member (id, attempt, version, time, reason, cause, payload, payload_digest, digest, i)
WHERE member.id IS NOT NULL;
}{sqlite SELECT
    log.pos + member.key * json_array_length(log.path) + step.key, member.value,
    (log.versions ->> member.key) - json_array_length(log.path) + step.key + 1,
    step.value ->> 0, step.value ->> 1, step.value ->> 2,
    coalesce(log.times ->> member.key, log.at_ms), log.actor,
    (log.attempts ->> member.key) - (step.value ->> 3), log.reasons ->> member.key, log.causes ->> member.key,
    CASE WHEN step.key = json_array_length(log.path) - 1 THEN log.payloads ->> member.key END,
    CASE WHEN step.key = json_array_length(log.path) - 1 THEN log.payload_digests ->> member.key END,
    CASE WHEN step.key = json_array_length(log.path) - 1 THEN log.digests ->> member.key END, log.schema_version
FROM holdfast_log AS log
CROSS JOIN json_each(log.ids) AS member
CROSS JOIN json_each(log.path) AS step
WHERE member.value IS NOT NULL;
}
