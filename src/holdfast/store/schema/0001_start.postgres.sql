-- The whole first schema. Times are milliseconds since 1970; text that is JSON has passed the payload's door.

CREATE TABLE holdfast_job (
    id uuid NOT NULL PRIMARY KEY,
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
    outcome_digest bytea
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- What can be claimed, by lane; a job that is taken leaves it.
CREATE INDEX holdfast_job_ready ON holdfast_job (queue, lifecycle, state, priority, due_at_ms, id) WHERE ready;
CREATE INDEX holdfast_job_lease ON holdfast_job (lease_until_ms) WHERE lease_until_ms IS NOT NULL;
CREATE INDEX holdfast_job_expiry ON holdfast_job (expires_at_ms)
    WHERE expires_at_ms IS NOT NULL AND finished_at_ms IS NULL;
CREATE INDEX holdfast_job_state ON holdfast_job (state, id);
CREATE INDEX holdfast_job_task ON holdfast_job (task, id);
CREATE INDEX holdfast_job_correlation ON holdfast_job (correlation_id) WHERE correlation_id IS NOT NULL;
CREATE INDEX holdfast_job_parent ON holdfast_job (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX holdfast_job_key ON holdfast_job (key_scope, key) WHERE key_scope IS NOT NULL;

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
