-- A job is written once and never changed. Where it stands is a row of its own, in the one table that fits: ready to be
-- claimed, under a lease that it shares with all that were claimed at once, or at rest. The log has a row for each batch
-- of jobs that took the same path at once.
{sqlite DROP INDEX holdfast_job_ready;
DROP INDEX holdfast_job_gate;
DROP INDEX holdfast_job_lease;
DROP INDEX holdfast_job_expiry;
DROP INDEX holdfast_job_state;
DROP INDEX holdfast_job_task;
DROP INDEX holdfast_job_correlation;
DROP INDEX holdfast_job_parent;
DROP INDEX holdfast_job_key;
}{postgres -- Whoever is at work with the tables of before comes first, and then finds them gone.
LOCK TABLE holdfast_job, holdfast_event IN ACCESS EXCLUSIVE MODE;
DROP INDEX holdfast_job_ready, holdfast_job_gate, holdfast_job_lease, holdfast_job_expiry, holdfast_job_state,
    holdfast_job_task, holdfast_job_correlation, holdfast_job_parent, holdfast_job_key;
ALTER INDEX holdfast_job_pkey RENAME TO holdfast_job_before_pkey;
-- Places in the log, in the order in which they were asked for: a row of it takes as many as it has events, at most.
CREATE SEQUENCE holdfast_log_pos INCREMENT BY 4096 START WITH 4096;
-- Leases, none of which is ever given out twice.
CREATE SEQUENCE holdfast_token;
}
ALTER TABLE holdfast_job RENAME TO holdfast_job_before;

-- Jobs: what each was made from, which is also what its first event says.
CREATE TABLE holdfast_job (
    id {uuid} NOT NULL {sqlite UNIQUE} {postgres PRIMARY KEY} {distinct}, -- version 7: ids sort by when they were made
    -- the place of its first event in the log
    pos {bigint} NOT NULL {sqlite PRIMARY KEY} {postgres DEFAULT nextval('holdfast_log_pos')},
    lifecycle text NOT NULL, -- the table of states that it follows
    task text NOT NULL, -- what it runs
    queue text NOT NULL, -- where workers find it
    priority integer NOT NULL, -- as it was submitted; higher goes first
    state text NOT NULL, -- the canonical state in which it began
    turn integer NOT NULL, -- the lowest is claimed first; falls as a deadline comes near
    gate text {postgres COLLATE "C"} NOT NULL, -- the limit that it waits behind
    max_tries integer NOT NULL, -- how often it may be tried
    lease_ms integer NOT NULL, -- how long a lease is
    due_at_ms {bigint} NOT NULL, -- not before this, the first time
    created_at_ms {bigint} NOT NULL,
    expires_at_ms {bigint}, -- when it is given up, as it was submitted
    keep_until_ms {bigint}, -- retention leaves it alone until then
    key_scope text, -- what its key is unique in
    key text, -- the key that it was submitted under
    correlation_id text, -- what it has in common with other jobs
    trace_id text, -- the trace that it was submitted in
    parent_id {uuid}, -- the job, or the flow, that it belongs to
    tags text, -- JSON
    options text, -- JSON: terms of its own
    payload text, -- JSON: what it is given
    payload_digest {bytea}, -- of a payload that was removed
    event_type text NOT NULL, -- the name of its first event
    actor text NOT NULL, -- who submitted it
    reason text, -- why, as a code
    cause text, -- what brought it about
    event_payload text, -- JSON: what the event has to say
    event_payload_digest {bytea}, -- of one that was removed
    digest {bytea} -- binds what was submitted
) {strict};
{postgres -- The first events, in the order of the log.
CREATE UNIQUE INDEX holdfast_job_pos ON holdfast_job (pos) {distinct};
}-- Lists, newest first: each page is a stretch of one of these.
CREATE INDEX holdfast_job_task ON holdfast_job (task, id) {distinct};
CREATE INDEX holdfast_job_correlation ON holdfast_job (correlation_id, id) {distinct} WHERE correlation_id IS NOT NULL;
CREATE INDEX holdfast_job_parent ON holdfast_job (parent_id, id) {distinct} WHERE parent_id IS NOT NULL;
CREATE INDEX holdfast_job_key ON holdfast_job (key_scope, key, id) {distinct} WHERE key_scope IS NOT NULL;

-- What can be claimed once it is due, by lane. A job that is taken leaves it.
CREATE TABLE holdfast_ready (
    queue text NOT NULL,
    lifecycle text NOT NULL,
    state text NOT NULL,
    turn integer NOT NULL,
    gate text {postgres COLLATE "C"} NOT NULL,
    due_at_ms {bigint} NOT NULL,
    id {uuid} NOT NULL,
    attempt integer NOT NULL, -- the fence: a write that carries another one changes nothing
    version integer NOT NULL, -- how many events it has
    tries integer NOT NULL, -- attempts that count against `max_tries`
    losses integer NOT NULL, -- how often its worker was lost
    changed_at_ms {bigint} NOT NULL, -- when its last event was written
    started_at_ms {bigint}, -- when its latest run began
    expires_at_ms {bigint}, -- when it is given up
    pos {bigint} NOT NULL, -- the place of its last event's row in the log
    outcome text, -- JSON: what came out of it last
    moved {boolean} NOT NULL, -- whether it stands elsewhere than where it was submitted to
    PRIMARY KEY (queue, lifecycle, state, turn, gate, due_at_ms, id)
) {sqlite WITHOUT ROWID, STRICT} {postgres WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)};
-- Jobs that came back, or moved up; the others stand where their job says.
CREATE INDEX holdfast_ready_id ON holdfast_ready (id) WHERE moved;
-- What may expire.
CREATE INDEX holdfast_ready_expiry ON holdfast_ready (expires_at_ms) WHERE expires_at_ms IS NOT NULL;

{postgres -- Leases: jobs of one lane that one worker took at once, with a bit for each that says whether it is gone again.
CREATE TABLE holdfast_lease (
    token bigint NOT NULL PRIMARY KEY DEFAULT nextval('holdfast_token'), -- of this lease and no other
    pos bigint NOT NULL, -- the row of the log that says which jobs they are
    queue text NOT NULL,
    lifecycle text NOT NULL,
    state text NOT NULL, -- all of them are in
    gate text COLLATE "C" NOT NULL,
    owner text NOT NULL, -- who runs them
    until_ms bigint NOT NULL, -- until when, unless the lease is renewed
    lease_ms integer NOT NULL, -- for how long
    low uuid NOT NULL, -- the lowest of their ids
    high uuid NOT NULL, -- the highest
    expires_at_ms bigint, -- when the first of them is given up
    gone varbit NOT NULL, -- a bit for each job of that row
    asked text[] -- `soft` or `hard`, for each whose owner was asked to stop
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
-- Leases, the first to end at the head.
CREATE INDEX holdfast_lease_until ON holdfast_lease (until_ms);
}{sqlite -- Jobs that somebody runs.
CREATE TABLE holdfast_held (
    id text NOT NULL PRIMARY KEY,
    queue text NOT NULL,
    lifecycle text NOT NULL,
    state text NOT NULL, -- the canonical state
    gate text NOT NULL,
    owner text NOT NULL, -- who runs it
    until_ms integer NOT NULL, -- until when, unless the lease is renewed
    lease_ms integer NOT NULL, -- for how long
    attempt integer NOT NULL, -- the fence: a write that carries another one changes nothing
    version integer NOT NULL, -- how many events it has
    tries integer NOT NULL,
    losses integer NOT NULL,
    due_at_ms integer, -- where it is another time than it was submitted for
    changed_at_ms integer NOT NULL, -- when its last event was written
    started_at_ms integer, -- when its latest run began
    expires_at_ms integer, -- when it is given up
    pos integer NOT NULL, -- the place of its last event's row in the log
    outcome text, -- JSON: what came out of it last
    asked text -- `soft` or `hard`, where its worker was asked to stop
) WITHOUT ROWID, STRICT;
}
-- Jobs that wait for something else than a worker, or are over.
CREATE TABLE holdfast_rest (
    id {uuid} NOT NULL PRIMARY KEY {distinct},
    state text NOT NULL, -- the canonical state
    attempt integer NOT NULL,
    version integer NOT NULL, -- how many events it has
    tries integer NOT NULL,
    losses integer NOT NULL,
    due_at_ms {bigint}, -- where it is another time than it was submitted for
    changed_at_ms {bigint} NOT NULL, -- when its last event was written
    started_at_ms {bigint}, -- when its latest run began
    finished_at_ms {bigint}, -- when it came to its end
    expires_at_ms {bigint}, -- when it is given up
    pos {bigint} NOT NULL, -- the place of its last event's row in the log
    outcome text, -- JSON: what came out
    outcome_digest {bytea} -- of an outcome that was removed
) {sqlite WITHOUT ROWID, STRICT};
-- By where they are, newest first.
CREATE INDEX holdfast_rest_state ON holdfast_rest (state, id) {distinct};
-- What may expire.
CREATE INDEX holdfast_rest_expiry ON holdfast_rest (expires_at_ms)
    WHERE expires_at_ms IS NOT NULL AND finished_at_ms IS NULL;

-- The log but for first events: a row for each batch of jobs that took the same path at once. An event is one job's
-- part in one step of it; its place is the row's, and one more for each step of each job before it.
CREATE TABLE holdfast_log (
    pos {bigint} NOT NULL PRIMARY KEY,
    lifecycle text NOT NULL,
    path text NOT NULL, -- JSON: each step's event, where from, where to, and how many attempts are opened after it
    at_ms {bigint} NOT NULL,
    times {sqlite text} {postgres bigint[]}, -- of each, where a clock that went back made them differ
    actor text NOT NULL, -- who did it
    ids {sqlite text} {postgres uuid[]} NOT NULL, -- the jobs; none where one was removed
    prevs {sqlite text} {postgres bigint[]} NOT NULL, -- the row of the event before, of each
    attempts {sqlite text} {postgres integer[]} NOT NULL, -- after the last step, as all that follows
    versions {sqlite text} {postgres integer[]} NOT NULL,
{postgres     tries integer[], -- of jobs under a lease, which stand nowhere else
    losses integer[],
    starts bigint[], -- when the latest run of each began
    dues bigint[], -- where it is another time than it was submitted for
    expiries bigint[],
    outcomes text[],
}    reasons {sqlite text} {postgres text[]}, -- why, as a code
    causes {sqlite text} {postgres text[]}, -- what brought it about
    payloads {sqlite text} {postgres text[]}, -- JSON: what the last step has to say
    payload_digests {sqlite text} {postgres bytea[]}, -- of payloads that were removed
    digests {sqlite text} {postgres bytea[]}, -- of the outcomes
    schema_version {smallint} NOT NULL DEFAULT 1 -- of the events' own shape
) {strict} {postgres WITH (toast_tuple_target = 8160)};
-- What happened lately.
CREATE INDEX holdfast_log_at ON holdfast_log (at_ms);
{postgres
ALTER TABLE holdfast_log ALTER ids SET STORAGE MAIN, ALTER prevs SET STORAGE MAIN, ALTER attempts SET STORAGE MAIN,
    ALTER versions SET STORAGE MAIN;
}
-- What there was before moves over. The first event of a job becomes the job's own; every other gets a row of the log, at
-- the place that it has: seals and certificates bind it. A job that has lost its first event is given one that says
-- nothing, below all places: an audit finds it. Events whose jobs are gone stay events without jobs.
{postgres SET LOCAL enable_seqscan = on;
SET LOCAL enable_hashjoin = on;
SET LOCAL enable_mergejoin = on;
SET LOCAL enable_sort = on;
SET LOCAL work_mem = '64MB';
ANALYZE holdfast_job_before;
ANALYZE holdfast_event;
CREATE UNLOGGED TABLE holdfast_moving AS
SELECT job_id, pos, lag(pos) OVER life AS prev, lead(pos) OVER life IS NULL AS newest
FROM holdfast_event
WINDOW life AS (PARTITION BY job_id ORDER BY seq, at_ms);
ANALYZE holdfast_moving;
}
INSERT INTO holdfast_job (
    id, pos, lifecycle, task, queue, priority, state, turn, gate, max_tries, lease_ms, due_at_ms, created_at_ms,
    expires_at_ms, keep_until_ms, key_scope, key, correlation_id, trace_id, parent_id, tags, options, payload,
    payload_digest, event_type, actor, reason, cause, event_payload, event_payload_digest, digest
)
SELECT
    job.id, coalesce(first.pos, -row_number() OVER ()), job.lifecycle, job.task, job.queue, job.priority,
    coalesce(first.to_state, job.state), job.turn, job.gate, job.max_tries, job.lease_ms,
    -- The time that it was submitted for: later ones stand where the job does.
    CASE
        WHEN job.version = 1 OR first.payload_digest IS NOT NULL OR first.pos IS NULL THEN job.due_at_ms
{sqlite         WHEN NOT json_valid(first.payload) THEN first.at_ms
        ELSE coalesce(
            CAST(first.payload ->> 'due_at_ms' AS integer),
            first.at_ms + coalesce(CAST(first.payload ->> 'delay_ms' AS integer), 0)
        )}{postgres         ELSE coalesce(
            substring(first.payload, '"due_at_ms": *(-?[0-9]+)')::bigint,
            first.at_ms + coalesce(substring(first.payload, '"delay_ms": *([0-9]+)')::bigint, 0)
        )}
    END,
    coalesce(first.at_ms, job.created_at_ms),
    -- As submitted, where nothing has moved it since.
    CASE WHEN job.version = 1 THEN job.expires_at_ms END, job.keep_until_ms, job.key_scope, job.key,
    job.correlation_id, job.trace_id, job.parent_id, job.tags, job.options, job.payload, job.payload_digest,
    coalesce(first.type, 'job_submitted'), coalesce(first.actor, ''), first.reason, first.cause, first.payload,
    first.payload_digest, first.digest
FROM holdfast_job_before AS job
LEFT JOIN holdfast_event AS first ON first.job_id = job.id AND first.seq = 1{postgres
ORDER BY first.pos};
{postgres ANALYZE holdfast_job;
}
INSERT INTO holdfast_log (
    pos, lifecycle, path, at_ms, actor, ids, prevs, attempts, versions, reasons, causes, payloads, payload_digests, digests,
    schema_version
)
SELECT
    event.pos, coalesce(job.lifecycle, ''),
    '[[' || {quoted event.type} || ',' || coalesce({quoted event.from_state}, 'null') || ',' || {quoted event.to_state}
        || ',0]]',
    event.at_ms, event.actor, {some event.job_id},
    {some coalesce({postgres moving.prev}{sqlite (
        SELECT earlier.pos FROM holdfast_event AS earlier
        WHERE earlier.job_id = event.job_id AND earlier.seq < event.seq
        ORDER BY earlier.seq DESC
        LIMIT 1
    )}, job.pos)},
    {some event.attempt}, {some event.seq},
    CASE WHEN event.reason IS NOT NULL THEN {some event.reason} END,
    CASE WHEN event.cause IS NOT NULL THEN {some event.cause} END,
    CASE WHEN event.payload IS NOT NULL THEN {some event.payload} END,
    CASE WHEN event.payload_digest IS NOT NULL THEN {some {hexed event.payload_digest}} END,
    CASE WHEN event.digest IS NOT NULL THEN {some {hexed event.digest}} END,
    event.schema_version
FROM holdfast_event AS event
{postgres JOIN holdfast_moving AS moving ON moving.pos = event.pos
}LEFT JOIN holdfast_job AS job ON job.id = event.job_id
WHERE job.pos IS NULL OR job.pos <> event.pos
ORDER BY event.pos;

-- Where each stands: at the row of its last event.
CREATE VIEW holdfast_stood AS
SELECT
    old.*, job.due_at_ms AS first_due_at_ms, job.state AS first_state, job.pos AS first_pos,
    coalesce({postgres moving.pos}{sqlite (
        SELECT event.pos FROM holdfast_event AS event WHERE event.job_id = old.id ORDER BY event.seq DESC LIMIT 1
    )}, job.pos) AS pos
FROM holdfast_job_before AS old
JOIN holdfast_job AS job ON job.id = old.id{postgres
LEFT JOIN holdfast_moving AS moving ON moving.job_id = old.id AND moving.newest};
INSERT INTO holdfast_ready (
    queue, lifecycle, state, turn, gate, due_at_ms, id, attempt, version, tries, losses, changed_at_ms, started_at_ms,
    expires_at_ms, pos, outcome, moved
)
SELECT
    queue, lifecycle, state, turn, gate, due_at_ms, id, attempt, version, tries, losses, changed_at_ms, started_at_ms,
    expires_at_ms, pos, outcome, version > 1 OR state <> first_state OR due_at_ms <> first_due_at_ms
FROM holdfast_stood
WHERE ready AND lease_until_ms IS NULL;
{sqlite INSERT INTO holdfast_held (
    id, queue, lifecycle, state, gate, owner, until_ms, lease_ms, attempt, version, tries, losses, due_at_ms, changed_at_ms,
    started_at_ms, expires_at_ms, pos, outcome, asked
)
SELECT
    id, queue, lifecycle, state, gate, coalesce(lease_owner, ''), lease_until_ms, lease_ms, attempt, version, tries, losses,
    nullif(due_at_ms, first_due_at_ms), changed_at_ms, started_at_ms, expires_at_ms, pos, outcome, cancel_requested
FROM holdfast_stood
WHERE lease_until_ms IS NOT NULL;
}{postgres UPDATE holdfast_log AS log
SET
    tries = ARRAY[old.tries],
    losses = ARRAY[old.losses],
    starts = ARRAY[old.started_at_ms],
    dues = CASE WHEN old.due_at_ms <> first_due_at_ms THEN ARRAY[old.due_at_ms] END,
    expiries = CASE WHEN old.expires_at_ms IS NOT NULL THEN ARRAY[old.expires_at_ms] END,
    outcomes = CASE WHEN old.outcome IS NOT NULL THEN ARRAY[old.outcome] END
FROM holdfast_stood AS old
WHERE old.lease_until_ms IS NOT NULL AND log.pos = old.pos;
INSERT INTO holdfast_lease (
    pos, queue, lifecycle, state, gate, owner, until_ms, lease_ms, low, high, expires_at_ms, gone, asked
)
SELECT
    pos, queue, lifecycle, state, gate, coalesce(lease_owner, ''), lease_until_ms, lease_ms, id, id, expires_at_ms, B'0',
    CASE WHEN cancel_requested IS NOT NULL THEN ARRAY[cancel_requested] END
FROM holdfast_stood
WHERE lease_until_ms IS NOT NULL AND pos <> first_pos;
}INSERT INTO holdfast_rest (
    id, state, attempt, version, tries, losses, due_at_ms, changed_at_ms, started_at_ms, finished_at_ms, expires_at_ms, pos,
    outcome, outcome_digest
)
SELECT
    id, state, attempt, version, tries, losses, nullif(due_at_ms, first_due_at_ms), changed_at_ms, started_at_ms,
    finished_at_ms, expires_at_ms, pos, outcome, outcome_digest
FROM holdfast_stood
WHERE (NOT ready AND lease_until_ms IS NULL) {postgres OR (lease_until_ms IS NOT NULL AND pos = first_pos)};

-- New rows stand behind all that was written before, removed or not.
{postgres SELECT setval(
    'holdfast_log_pos',
    greatest(
        (SELECT last_value FROM holdfast_event_pos), (SELECT max(pos) FROM holdfast_event),
        (SELECT max(last_pos) FROM holdfast_seal), 0
    ) / 4096 * 4096 + 4096,
    FALSE
);
}DROP VIEW holdfast_stood;
DROP TABLE holdfast_job_before;
DROP TABLE holdfast_event;
{postgres DROP TABLE holdfast_moving;
DROP SEQUENCE holdfast_event_pos;
DROP FUNCTION holdfast_add_partition, holdfast_drop_partition;
}
