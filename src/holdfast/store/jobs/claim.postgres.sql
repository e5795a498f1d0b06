-- Take the next due jobs of one lane, behind the floor: one statement locks them, passes over what is locked, and puts
-- them under a lease, with their events in one row of the log. The array form keeps its plan whatever the statistics say.
WITH clock AS MATERIALIZED (
    SELECT {now} AS now_ms
),
taken AS (
    DELETE FROM holdfast_ready
    WHERE ctid = ANY (ARRAY(
        SELECT ctid
        FROM holdfast_ready
        WHERE queue = :queue AND lifecycle = :lifecycle AND state = :source
            AND turn = :turn AND gate = :gate
            AND (due_at_ms, id) > (:floor_due_ms::bigint, :floor_id::uuid)
            AND due_at_ms <= (SELECT now_ms FROM clock)
        ORDER BY due_at_ms, id
        LIMIT :limit::bigint
        FOR UPDATE SKIP LOCKED
    ))
    RETURNING *
),
claimed AS MATERIALIZED (
    SELECT
        taken.id, taken.attempt, taken.losses, taken.pos, taken.due_at_ms, taken.moved, taken.outcome,
        taken.version + :steps::integer AS version,
        taken.tries + :tries::integer AS tries,
        CASE WHEN :starts::boolean THEN timed.at_ms ELSE taken.started_at_ms END AS started_at_ms,
        -- A job that stands still for too long has a limit of its own, which begins anew with every change.
        CASE
            WHEN :stale_after_ms::bigint IS NULL THEN taken.expires_at_ms
            ELSE timed.at_ms + coalesce(taken.expires_at_ms - taken.changed_at_ms, :stale_after_ms::bigint)
        END AS expires_at_ms,
        job.task, job.priority, job.max_tries, job.lease_ms, job.created_at_ms, job.keep_until_ms, job.key_scope,
        job.key, job.correlation_id, job.trace_id, job.parent_id, job.tags, job.options, job.payload,
        job.payload_digest, timed.at_ms
    FROM taken
    JOIN holdfast_job AS job ON job.id = taken.id
    CROSS JOIN clock
    -- A job never goes back in time, whatever the clock does.
    CROSS JOIN LATERAL (SELECT greatest(clock.now_ms, taken.changed_at_ms) AS at_ms) AS timed
),
batch AS MATERIALIZED (
    SELECT
        array_agg(id) AS ids, array_agg(pos) AS prevs, array_agg(attempt) AS attempts, array_agg(version) AS versions,
        array_agg(tries) AS tries, array_agg(losses) AS losses, array_agg(lease_ms) AS terms,
        array_agg(at_ms) AS times, max(at_ms) AS last_ms,
        CASE WHEN NOT :starts::boolean AND count(started_at_ms) > 0 THEN array_agg(started_at_ms) END AS starts,
        CASE WHEN bool_or(moved) THEN array_agg(CASE WHEN moved THEN due_at_ms END) END AS dues,
        CASE WHEN count(expires_at_ms) > 0 THEN array_agg(expires_at_ms) END AS expiries,
        CASE WHEN count(outcome) > 0 THEN array_agg(outcome) END AS outcomes
    FROM claimed
    HAVING count(*) > 0
),
-- A place is asked for once there are rows: by then the transaction has an id, on whose age feed readers rely.
place AS MATERIALIZED (
    SELECT nextval('holdfast_log_pos') AS pos FROM batch
),
logged AS (
    INSERT INTO holdfast_log (
        pos, lifecycle, path, at_ms, times, actor, ids, prevs, attempts, versions, tries, losses, starts, dues, expiries,
        outcomes
    )
    SELECT
        place.pos, :lifecycle, :path, clock.now_ms, CASE WHEN last_ms > clock.now_ms THEN times END, :owner, ids, prevs, attempts, versions, tries, losses, starts, dues,
        expiries, outcomes
    FROM batch, clock, place
),
-- Jobs whose leases begin at once and are of one length share one.
leased AS (
    INSERT INTO holdfast_lease (
        pos, queue, lifecycle, state, gate, owner, until_ms, lease_ms, low, high, expires_at_ms, gone
    )
    SELECT
        place.pos, :queue, :lifecycle, :target, :gate, :owner, term.at_ms + term.lease_ms, term.lease_ms,
        (SELECT id FROM claimed ORDER BY id LIMIT 1), (SELECT id FROM claimed ORDER BY id DESC LIMIT 1),
        term.expires_at_ms,
        CASE
            WHEN term.jobs = cardinality(batch.ids) THEN repeat('0', cardinality(batch.ids))
            ELSE (
                SELECT string_agg(CASE WHEN lease_ms = term.lease_ms AND at_ms = term.at_ms THEN '0' ELSE '1' END, '' ORDER BY n)
                FROM unnest(batch.terms, batch.times) WITH ORDINALITY AS others (lease_ms, at_ms, n)
            )
        END::varbit
    FROM batch, clock, place, (
        SELECT lease_ms, at_ms, count(*) AS jobs, min(expires_at_ms) AS expires_at_ms
        FROM claimed
        GROUP BY lease_ms, at_ms
    ) AS term
    RETURNING token, lease_ms, until_ms
)
SELECT
    claimed.id, :lifecycle, task, :queue, priority, :target, attempt, version, claimed.tries, max_tries, claimed.losses,
    FALSE, due_at_ms, claimed.lease_ms, :owner, at_ms + claimed.lease_ms, created_at_ms, at_ms, started_at_ms,
    NULL::bigint, expires_at_ms, keep_until_ms, NULL::text, key_scope, key, correlation_id, trace_id, parent_id, tags,
    options, payload, payload_digest, outcome, NULL::bytea,
    leased.token, array_position(batch.ids, claimed.id) - 1, cardinality(batch.ids),
    CASE WHEN moved THEN due_at_ms END, NULL::integer
FROM batch, claimed
JOIN leased ON leased.lease_ms = claimed.lease_ms AND leased.until_ms = claimed.at_ms + claimed.lease_ms
