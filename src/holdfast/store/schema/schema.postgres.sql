-- The whole schema as it is now: what all migrations together make. Times are milliseconds since 1970.

CREATE TABLE holdfast_job (
    id uuid NOT NULL PRIMARY KEY WITH (deduplicate_items = off),
    lifecycle text NOT NULL,
    task text NOT NULL,
    queue text NOT NULL,
    priority integer NOT NULL,
    state text NOT NULL,
    attempt integer NOT NULL,
    version integer NOT NULL,
    tries integer NOT NULL,
    max_tries integer NOT NULL,
    losses integer NOT NULL,
    ready boolean NOT NULL,
    due_at_ms bigint NOT NULL,
    lease_ms integer NOT NULL,
    lease_owner text,
    lease_until_ms bigint,
    created_at_ms bigint NOT NULL,
    changed_at_ms bigint NOT NULL,
    started_at_ms bigint,
    finished_at_ms bigint,
    expires_at_ms bigint,
    keep_until_ms bigint,
    cancel_requested text,
    key_scope text,
    key text,
    correlation_id text,
    trace_id text,
    parent_id uuid,
    tags text,
    options text,
    payload text,
    payload_digest bytea,
    outcome text,
    outcome_digest bytea,
    turn integer NOT NULL DEFAULT 0,
    gate text COLLATE "C" NOT NULL DEFAULT ''
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- No two jobs have equal keys in an index that ends in their id: to look for some would cost every write.

-- What can be claimed, by lane; a job that is taken leaves it.
CREATE INDEX holdfast_job_ready ON holdfast_job (queue, lifecycle, state, turn, gate, due_at_ms, id)
    WITH (deduplicate_items = off) WHERE ready;
CREATE INDEX holdfast_job_gate ON holdfast_job (gate) WHERE gate <> '' AND lease_owner IS NOT NULL;
CREATE INDEX holdfast_job_lease ON holdfast_job (lease_until_ms) WHERE lease_until_ms IS NOT NULL;
CREATE INDEX holdfast_job_expiry ON holdfast_job (expires_at_ms)
    WHERE expires_at_ms IS NOT NULL AND finished_at_ms IS NULL;
CREATE INDEX holdfast_job_state ON holdfast_job (state, id) WITH (deduplicate_items = off);
CREATE INDEX holdfast_job_task ON holdfast_job (task, id) WITH (deduplicate_items = off);
CREATE INDEX holdfast_job_correlation ON holdfast_job (correlation_id, id)
    WITH (deduplicate_items = off) WHERE correlation_id IS NOT NULL;
CREATE INDEX holdfast_job_parent ON holdfast_job (parent_id, id)
    WITH (deduplicate_items = off) WHERE parent_id IS NOT NULL;
CREATE INDEX holdfast_job_key ON holdfast_job (key_scope, key, id)
    WITH (deduplicate_items = off) WHERE key_scope IS NOT NULL;

CREATE SEQUENCE holdfast_event_pos;

CREATE TABLE holdfast_event (
    pos bigint NOT NULL DEFAULT nextval('holdfast_event_pos'),
    job_id uuid NOT NULL,
    seq integer NOT NULL,
    type text NOT NULL,
    from_state text,
    to_state text NOT NULL,
    at_ms bigint NOT NULL,
    actor text NOT NULL,
    attempt integer NOT NULL,
    reason text,
    cause text,
    payload text,
    payload_digest bytea,
    digest bytea,
    schema_version smallint NOT NULL DEFAULT 1,
    PRIMARY KEY (job_id, seq, at_ms)
) PARTITION BY RANGE (at_ms);

CREATE INDEX holdfast_event_feed ON holdfast_event (pos);
CREATE INDEX holdfast_event_type ON holdfast_event (type, at_ms);

-- Takes what no weekly partition covers, so that no write ever fails for want of one.
CREATE TABLE holdfast_event_default PARTITION OF holdfast_event DEFAULT;

CREATE TABLE holdfast_signal (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id uuid NOT NULL,
    attempt integer NOT NULL,
    type text NOT NULL,
    at_ms bigint NOT NULL,
    actor text NOT NULL,
    payload text,
    expires_at_ms bigint NOT NULL
);
CREATE INDEX holdfast_signal_job ON holdfast_signal (job_id, at_ms);
CREATE INDEX holdfast_signal_expiry ON holdfast_signal (expires_at_ms);

CREATE TABLE holdfast_key (
    scope text NOT NULL,
    key text NOT NULL,
    job_id uuid NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE INDEX holdfast_key_job ON holdfast_key (job_id);

CREATE TABLE holdfast_op (
    op_id text NOT NULL PRIMARY KEY,
    answer text,
    expires_at_ms bigint NOT NULL
);
CREATE INDEX holdfast_op_expiry ON holdfast_op (expires_at_ms);

CREATE TABLE holdfast_dead (
    job_id uuid NOT NULL PRIMARY KEY,
    at_ms bigint NOT NULL,
    reason_code text NOT NULL,
    stage text NOT NULL,
    last_error text,
    attempts integer NOT NULL,
    last_owner text,
    last_lease_expires_at_ms bigint,
    correlation_id text NOT NULL,
    fingerprint text NOT NULL,
    resolution text
);
CREATE INDEX holdfast_dead_group ON holdfast_dead (fingerprint, job_id);
CREATE INDEX holdfast_dead_at ON holdfast_dead (at_ms, job_id);

CREATE TABLE holdfast_seal (
    number integer NOT NULL PRIMARY KEY,
    first_pos bigint NOT NULL,
    last_pos bigint NOT NULL,
    count integer NOT NULL,
    root bytea NOT NULL,
    previous bytea NOT NULL,
    head bytea NOT NULL,
    purges bytea NOT NULL,
    sealed_at_ms bigint NOT NULL,
    manifest bytea
);
CREATE UNIQUE INDEX holdfast_seal_pos ON holdfast_seal (last_pos);

CREATE TABLE holdfast_purge (
    number integer NOT NULL PRIMARY KEY,
    at_ms bigint NOT NULL,
    kind text NOT NULL,
    jobs integer NOT NULL,
    events integer NOT NULL,
    first_pos bigint NOT NULL,
    last_pos bigint NOT NULL,
    ranges text NOT NULL,
    digest bytea NOT NULL
);

CREATE TABLE holdfast_lifecycle (
    name text NOT NULL PRIMARY KEY,
    definition text NOT NULL,
    at_ms bigint NOT NULL
);

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

CREATE TABLE holdfast_step (
    job_id uuid NOT NULL,
    name text NOT NULL,
    number integer NOT NULL,
    attempt integer NOT NULL,
    at_ms bigint NOT NULL,
    result text NOT NULL,
    PRIMARY KEY (job_id, name)
);

CREATE TABLE holdfast_checkpoint (
    job_id uuid NOT NULL PRIMARY KEY,
    attempt integer NOT NULL,
    at_ms bigint NOT NULL,
    data text NOT NULL
);

CREATE TABLE holdfast_artifact (
    job_id uuid NOT NULL,
    name text NOT NULL,
    attempt integer NOT NULL,
    at_ms bigint NOT NULL,
    digest text NOT NULL,
    size bigint NOT NULL,
    PRIMARY KEY (job_id, name)
);
CREATE INDEX holdfast_artifact_digest ON holdfast_artifact (digest);

CREATE TABLE holdfast_blob (
    digest text NOT NULL PRIMARY KEY,
    put_id uuid NOT NULL,
    size bigint NOT NULL,
    at_ms bigint NOT NULL
);

-- Puts of more than one chunk, as long as they are under way.
CREATE TABLE holdfast_put (
    id uuid NOT NULL PRIMARY KEY,
    at_ms bigint NOT NULL
);

CREATE TABLE holdfast_chunk (
    put_id uuid NOT NULL,
    start bigint NOT NULL,
    size integer NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (put_id, start)
);
-- What is put there is compressed already where that pays.
ALTER TABLE holdfast_chunk ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE holdfast_worker (
    owner text NOT NULL PRIMARY KEY,
    queues text NOT NULL,
    concurrency integer NOT NULL,
    started_at_ms bigint NOT NULL,
    seen_at_ms bigint NOT NULL,
    stats text
);

CREATE TABLE holdfast_queue (
    name text NOT NULL PRIMARY KEY,
    paused_at_ms bigint,
    reason text
);

CREATE TABLE holdfast_schedule (
    name text NOT NULL PRIMARY KEY,
    task text NOT NULL,
    args text NOT NULL,
    cron text NOT NULL,
    timezone text NOT NULL,
    missed text NOT NULL,
    paused boolean NOT NULL,
    last_tick_ms bigint NOT NULL,
    next_tick_ms bigint NOT NULL,
    spec text NOT NULL DEFAULT '{}'
);
CREATE INDEX holdfast_schedule_due ON holdfast_schedule (next_tick_ms);

CREATE TABLE holdfast_gate (
    name text NOT NULL PRIMARY KEY,
    running integer,
    interval_us bigint,
    burst integer NOT NULL,
    next_us bigint NOT NULL
);

CREATE TABLE holdfast_api_key (
    id text NOT NULL PRIMARY KEY,
    name text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    scope text NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint,
    revoked_at_ms bigint,
    last_used_at_ms bigint
);

-- A flow as it stands: how many of its nodes have not ended, and how those that have not ended well did.
CREATE TABLE holdfast_flow (
    id uuid NOT NULL PRIMARY KEY,
    on_failure text NOT NULL,
    nodes integer NOT NULL,
    open integer NOT NULL,
    failed integer NOT NULL,
    cancelled integer NOT NULL
);

-- A node of a flow, and how the edges into it stand: counted up as its parents end, in place where there is room.
CREATE TABLE holdfast_node (
    job_id uuid NOT NULL PRIMARY KEY,
    flow_id uuid NOT NULL,
    name text NOT NULL,
    item integer,
    join_kind text NOT NULL,
    need integer NOT NULL,
    parents integer NOT NULL,
    taken integer NOT NULL,
    dead integer NOT NULL,
    broken integer NOT NULL
) WITH (fillfactor = 60);
CREATE INDEX holdfast_node_flow ON holdfast_node (flow_id, name, item);

-- `cut`: the parent's branch left the child out.
CREATE TABLE holdfast_edge (
    parent_id uuid NOT NULL,
    child_id uuid NOT NULL,
    cut boolean NOT NULL,
    PRIMARY KEY (parent_id, child_id)
);
CREATE INDEX holdfast_edge_child ON holdfast_edge (child_id);

-- When a waiting job moves up, and to which turn.
CREATE TABLE holdfast_deadline (
    job_id uuid NOT NULL,
    at_ms bigint NOT NULL,
    turn integer NOT NULL,
    PRIMARY KEY (job_id, at_ms)
);
CREATE INDEX holdfast_deadline_at ON holdfast_deadline (at_ms);
