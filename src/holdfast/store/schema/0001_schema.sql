-- All tables. Times are milliseconds since 1970 and end in `_ms`; text that is JSON has passed the payload's checks.

-- Jobs: what each was made from, and where it stands. Every change of a row has its event.
CREATE TABLE holdfast_job (
    id {uuid} NOT NULL PRIMARY KEY {distinct}, -- version 7: ids sort by when they were made
    lifecycle text NOT NULL, -- the table of states that it follows
    task text NOT NULL, -- what it runs
    queue text NOT NULL, -- where workers find it
    priority integer NOT NULL, -- as it was submitted; higher goes first
    state text NOT NULL, -- the canonical state
    attempt integer NOT NULL, -- the fence: a write that carries another one changes nothing
    version integer NOT NULL, -- how many events it has
    tries integer NOT NULL, -- attempts that count against `max_tries`
    max_tries integer NOT NULL, -- how often it may be tried
    losses integer NOT NULL, -- how often its worker was lost
    ready {boolean} NOT NULL, -- whether it can be claimed once it is due
    due_at_ms {bigint} NOT NULL, -- not before this
    lease_ms integer NOT NULL, -- how long a lease is
    lease_owner text, -- who runs it
    lease_until_ms {bigint}, -- until when, unless the lease is renewed
    created_at_ms {bigint} NOT NULL,
    changed_at_ms {bigint} NOT NULL, -- when its last event was written
    started_at_ms {bigint}, -- when its latest run began
    finished_at_ms {bigint}, -- when it came to its end
    expires_at_ms {bigint}, -- when it is given up
    keep_until_ms {bigint}, -- retention leaves it alone until then
    cancel_requested text, -- `soft` or `hard`, where its worker was asked to stop
    key_scope text, -- what its key is unique in
    key text, -- the key that it was submitted under
    correlation_id text, -- what it has in common with other jobs
    trace_id text, -- the trace that it was submitted in
    parent_id {uuid}, -- the job, or the flow, that it belongs to
    tags text, -- JSON
    options text, -- JSON: terms of its own
    payload text, -- JSON: what it is given
    payload_digest {bytea}, -- of a payload that was removed
    outcome text, -- JSON: what came out
    outcome_digest {bytea}, -- of an outcome that was removed
    turn integer NOT NULL DEFAULT 0, -- the lowest is claimed first; falls as a deadline comes near
    gate text {postgres COLLATE "C"} NOT NULL DEFAULT '' -- the limit that it waits behind
) {strict} {postgres WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)};

-- What can be claimed, by lane; a job that is taken leaves it.
CREATE INDEX holdfast_job_ready ON holdfast_job (queue, lifecycle, state, turn, gate, due_at_ms, id)
    {distinct} WHERE ready;
-- What runs behind a limit.
CREATE INDEX holdfast_job_gate ON holdfast_job (gate) WHERE gate <> '' AND lease_owner IS NOT NULL;
-- Leases, the first to end at the head.
CREATE INDEX holdfast_job_lease ON holdfast_job (lease_until_ms) WHERE lease_until_ms IS NOT NULL;
-- What may expire.
CREATE INDEX holdfast_job_expiry ON holdfast_job (expires_at_ms)
    WHERE expires_at_ms IS NOT NULL AND finished_at_ms IS NULL;
-- Lists, newest first: each page is a stretch of one of these.
CREATE INDEX holdfast_job_state ON holdfast_job (state, id) {distinct};
CREATE INDEX holdfast_job_task ON holdfast_job (task, id) {distinct};
CREATE INDEX holdfast_job_correlation ON holdfast_job (correlation_id, id) {distinct} WHERE correlation_id IS NOT NULL;
CREATE INDEX holdfast_job_parent ON holdfast_job (parent_id, id) {distinct} WHERE parent_id IS NOT NULL;
CREATE INDEX holdfast_job_key ON holdfast_job (key_scope, key, id) {distinct} WHERE key_scope IS NOT NULL;

{postgres -- Places in the log, in the order in which they were asked for.
CREATE SEQUENCE holdfast_event_pos;
}
-- The log: exactly one row for each transition. On PostgreSQL in partitions of a week.
CREATE TABLE holdfast_event (
    -- its place in the log
    pos {sqlite integer PRIMARY KEY AUTOINCREMENT} {postgres bigint NOT NULL DEFAULT nextval('holdfast_event_pos')},
    job_id {uuid} NOT NULL,
    seq integer NOT NULL, -- its place in the job's life, from 1, without gaps
    type text NOT NULL, -- the event's name
    from_state text, -- none for the first
    to_state text NOT NULL,
    at_ms {bigint} NOT NULL,
    actor text NOT NULL, -- who did it
    attempt integer NOT NULL, -- the attempt that it belongs to
    reason text, -- why, as a code
    cause text, -- what brought it about
    payload text, -- JSON: what it has to say
    payload_digest {bytea}, -- of a payload that was removed
    digest {bytea}, -- binds what another table holds: the spec, the outcome
    schema_version {smallint} NOT NULL DEFAULT 1, -- of the event's own shape
    {sqlite UNIQUE (job_id, seq)} {postgres PRIMARY KEY (job_id, seq, at_ms)}
) {strict} {postgres PARTITION BY RANGE (at_ms)};

{postgres -- The log in its order, for those who follow it.
CREATE INDEX holdfast_event_feed ON holdfast_event (pos);
}-- What happened lately, by what it was.
CREATE INDEX holdfast_event_type ON holdfast_event (type, at_ms);

{postgres -- Takes what no weekly partition covers, so that no write ever fails for want of one.
CREATE TABLE holdfast_event_default PARTITION OF holdfast_event DEFAULT;

}-- What running jobs say that is no transition: heartbeats, progress, lines of their logs. Kept for a while.
CREATE TABLE holdfast_signal (
    id {sqlite integer PRIMARY KEY AUTOINCREMENT} {postgres bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY},
    job_id {uuid} NOT NULL,
    attempt integer NOT NULL,
    type text NOT NULL,
    at_ms {bigint} NOT NULL,
    actor text NOT NULL, -- who said it
    payload text, -- JSON: what it said
    expires_at_ms {bigint} NOT NULL -- when it is removed
) {strict};
-- What one job said.
CREATE INDEX holdfast_signal_job ON holdfast_signal (job_id, at_ms);
-- What is to be removed.
CREATE INDEX holdfast_signal_expiry ON holdfast_signal (expires_at_ms);

-- Keys, and the job that each was last given to: two submits of one key meet here.
CREATE TABLE holdfast_key (
    scope text NOT NULL,
    key text NOT NULL,
    job_id {uuid} NOT NULL, -- who holds it
    PRIMARY KEY (scope, key)
) {strict};
-- The keys of one job.
CREATE INDEX holdfast_key_job ON holdfast_key (job_id);

-- Requests that were answered, so that a repeat is answered alike.
CREATE TABLE holdfast_op (
    op_id text NOT NULL PRIMARY KEY, -- the id that the caller gave
    answer text, -- JSON: what it was answered
    expires_at_ms {bigint} NOT NULL -- until when a repeat is known
) {strict};
-- What is to be removed.
CREATE INDEX holdfast_op_expiry ON holdfast_op (expires_at_ms);

-- Dead letters: jobs that only a person can help.
CREATE TABLE holdfast_dead (
    job_id {uuid} NOT NULL PRIMARY KEY,
    at_ms {bigint} NOT NULL,
    reason_code text NOT NULL, -- why, as a code
    stage text NOT NULL, -- where in the run it went wrong
    last_error text, -- JSON: what went wrong
    attempts integer NOT NULL, -- how many it had
    last_owner text, -- who ran it last
    last_lease_expires_at_ms {bigint}, -- until when that was so
    correlation_id text NOT NULL,
    fingerprint text NOT NULL, -- the same for letters that failed alike
    resolution text -- what became of it; none while it is open
) {strict};
-- Letters that failed alike.
CREATE INDEX holdfast_dead_group ON holdfast_dead (fingerprint, job_id);
-- Letters, newest first.
CREATE INDEX holdfast_dead_at ON holdfast_dead (at_ms, job_id);

-- Seals: batches of the log, each under one root that is bound to the seal before it.
CREATE TABLE holdfast_seal (
    number integer NOT NULL PRIMARY KEY,
    first_pos {bigint} NOT NULL, -- the first event that it covers
    last_pos {bigint} NOT NULL, -- the last one
    count integer NOT NULL, -- how many these are
    root {bytea} NOT NULL, -- of the tree over its events
    previous {bytea} NOT NULL, -- the head before it
    head {bytea} NOT NULL, -- of the tree over all seals so far
    purges {bytea} NOT NULL, -- what was removed when it was made, as a digest
    sealed_at_ms {bigint} NOT NULL,
    manifest {bytea} -- what it covers, event by event
) {strict};
-- The seal of an event.
CREATE UNIQUE INDEX holdfast_seal_pos ON holdfast_seal (last_pos);

-- What retention removed, on record.
CREATE TABLE holdfast_purge (
    number integer NOT NULL PRIMARY KEY,
    at_ms {bigint} NOT NULL,
    kind text NOT NULL, -- `jobs`, or `payloads` alone
    jobs integer NOT NULL, -- how many jobs
    events integer NOT NULL, -- how many events
    first_pos {bigint} NOT NULL, -- the first of these in the log
    last_pos {bigint} NOT NULL, -- the last of them
    ranges text NOT NULL, -- JSON: which ones exactly
    digest {bytea} NOT NULL -- runs through all records so far
) {strict};

-- The tables of lifecycles, beside the jobs that follow them.
CREATE TABLE holdfast_lifecycle (
    name text NOT NULL PRIMARY KEY,
    definition text NOT NULL, -- JSON: states, rows and policies
    at_ms {bigint} NOT NULL
) {strict};
{postgres
-- Weekly partitions of the log are made ahead and dropped when retention has emptied them. Both need a lock that every
-- writer of the log waits behind: it is given up at once when it cannot be had, and asked for again by the next run.

CREATE FUNCTION holdfast_add_partition(name text, low_ms bigint, high_ms bigint) RETURNS boolean
LANGUAGE plpgsql
SET lock_timeout = '1s'
AS $$
BEGIN
    IF to_regclass(name) IS NOT NULL THEN
        RETURN FALSE;
    END IF;
    EXECUTE format('CREATE TABLE %I PARTITION OF holdfast_event FOR VALUES FROM (%s) TO (%s)', name, low_ms, high_ms);
    RETURN TRUE;
EXCEPTION
    -- The default partition has rows of that week already, another process was first, or the log is busy.
    WHEN check_violation OR duplicate_table OR unique_violation OR invalid_object_definition
        OR lock_not_available OR deadlock_detected THEN
        RETURN FALSE;
END
$$;

CREATE FUNCTION holdfast_drop_partition(name text) RETURNS boolean
LANGUAGE plpgsql
SET lock_timeout = '1s'
AS $$
DECLARE
    filled boolean;
BEGIN
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', name);
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', name) INTO filled;
    IF filled THEN
        RETURN FALSE;
    END IF;
    EXECUTE format('DROP TABLE %I', name);
    RETURN TRUE;
EXCEPTION
    WHEN undefined_table OR lock_not_available OR deadlock_detected THEN
        RETURN FALSE;
END
$$;
}
-- Steps that a job has done: a result that is here is not worked out again.
CREATE TABLE holdfast_step (
    job_id {uuid} NOT NULL,
    name text NOT NULL,
    number integer NOT NULL, -- in which order they were done
    attempt integer NOT NULL, -- the attempt that asked last
    at_ms {bigint} NOT NULL,
    result text NOT NULL, -- JSON
    PRIMARY KEY (job_id, name)
) {strict};

-- Where a job said that it was.
CREATE TABLE holdfast_checkpoint (
    job_id {uuid} NOT NULL PRIMARY KEY,
    attempt integer NOT NULL,
    at_ms {bigint} NOT NULL,
    data text NOT NULL -- JSON
) {strict};

-- Files that jobs left.
CREATE TABLE holdfast_artifact (
    job_id {uuid} NOT NULL,
    name text NOT NULL,
    attempt integer NOT NULL,
    at_ms {bigint} NOT NULL,
    data {bytea} NOT NULL,
    PRIMARY KEY (job_id, name)
) {strict};

-- Who works.
CREATE TABLE holdfast_worker (
    owner text NOT NULL PRIMARY KEY, -- the name in leases and events
    queues text NOT NULL, -- JSON: what it serves
    concurrency integer NOT NULL, -- how many jobs at once
    started_at_ms {bigint} NOT NULL,
    seen_at_ms {bigint} NOT NULL, -- when it last said that it is there
    stats text -- JSON: how it is doing
) {strict};

-- Queues that are paused, or were.
CREATE TABLE holdfast_queue (
    name text NOT NULL PRIMARY KEY,
    paused_at_ms {bigint}, -- since when nothing is claimed from it
    reason text -- why
) {strict};

-- Schedules: what is submitted at which times.
CREATE TABLE holdfast_schedule (
    name text NOT NULL PRIMARY KEY,
    task text NOT NULL,
    args text NOT NULL, -- JSON
    cron text NOT NULL,
    timezone text NOT NULL,
    missed text NOT NULL, -- what to do about ticks that nobody saw
    paused {boolean} NOT NULL,
    last_tick_ms {bigint} NOT NULL, -- the last that was taken
    next_tick_ms {bigint} NOT NULL, -- the next to take
    spec text NOT NULL DEFAULT '{}' -- JSON: what its jobs are made from, so that any process can submit them
) {strict};
-- What is due.
CREATE INDEX holdfast_schedule_due ON holdfast_schedule (next_tick_ms);

-- Limits that jobs share, over all workers together.
CREATE TABLE holdfast_gate (
    name text NOT NULL PRIMARY KEY,
    running integer, -- how many at once
    interval_us {bigint}, -- how far apart they start
    burst integer NOT NULL, -- how many may start at once before that
    next_us {bigint} NOT NULL -- when the next start is due
) {strict};

-- Keys to the HTTP API. Only a digest of the secret is kept.
CREATE TABLE holdfast_api_key (
    id text NOT NULL PRIMARY KEY,
    name text NOT NULL,
    hash {bytea} NOT NULL UNIQUE,
    scope text NOT NULL, -- what it allows
    created_at_ms {bigint} NOT NULL,
    expires_at_ms {bigint},
    revoked_at_ms {bigint},
    last_used_at_ms {bigint}
) {strict};

-- A flow as it stands: how many of its nodes have not ended, and how those that have not ended well did.
CREATE TABLE holdfast_flow (
    id {uuid} NOT NULL PRIMARY KEY, -- the job that the flow is as a whole
    on_failure text NOT NULL, -- what a node that fails does to the rest
    nodes integer NOT NULL, -- how many it has
    open integer NOT NULL, -- how many have not ended
    failed integer NOT NULL,
    cancelled integer NOT NULL
) {strict};

-- A node of a flow, and how the edges into it stand: counted up as its parents end, in place where there is room.
CREATE TABLE holdfast_node (
    job_id {uuid} NOT NULL PRIMARY KEY,
    flow_id {uuid} NOT NULL,
    name text NOT NULL,
    item integer, -- of a node that ran over a list: which of its jobs
    join_kind text NOT NULL, -- what it asks of its parents
    need integer NOT NULL, -- how many of them it needs
    parents integer NOT NULL, -- how many edges lead to it
    taken integer NOT NULL, -- whose parents ended well
    dead integer NOT NULL, -- that were not chosen
    broken integer NOT NULL -- whose parents did not end well
) {strict} {postgres WITH (fillfactor = 60)};
-- The nodes of a flow, in the order of their names.
CREATE INDEX holdfast_node_flow ON holdfast_node (flow_id, name, item);

-- Which node waits for which.
CREATE TABLE holdfast_edge (
    parent_id {uuid} NOT NULL,
    child_id {uuid} NOT NULL,
    cut {boolean} NOT NULL, -- whether the parent's branch left the child out
    PRIMARY KEY (parent_id, child_id)
) {strict};
-- What a node waits for.
CREATE INDEX holdfast_edge_child ON holdfast_edge (child_id);

-- When a waiting job moves up, and to which turn.
CREATE TABLE holdfast_deadline (
    job_id {uuid} NOT NULL,
    at_ms {bigint} NOT NULL,
    turn integer NOT NULL,
    PRIMARY KEY (job_id, at_ms)
) {strict};
-- What has come.
CREATE INDEX holdfast_deadline_at ON holdfast_deadline (at_ms);
