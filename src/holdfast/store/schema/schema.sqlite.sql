-- The whole schema as it is now: what all migrations together make. Times are milliseconds since 1970.

CREATE TABLE holdfast_job (
    id text NOT NULL PRIMARY KEY,
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
    ready integer NOT NULL,
    due_at_ms integer NOT NULL,
    lease_ms integer NOT NULL,
    lease_owner text,
    lease_until_ms integer,
    created_at_ms integer NOT NULL,
    changed_at_ms integer NOT NULL,
    started_at_ms integer,
    finished_at_ms integer,
    expires_at_ms integer,
    keep_until_ms integer,
    cancel_requested text,
    key_scope text,
    key text,
    correlation_id text,
    trace_id text,
    parent_id text,
    tags text,
    options text,
    payload text,
    payload_digest blob,
    outcome text,
    outcome_digest blob,
    turn integer NOT NULL DEFAULT 0,
    gate text NOT NULL DEFAULT ''
) STRICT;

-- What can be claimed, by lane; a job that is taken leaves it.
CREATE INDEX holdfast_job_ready ON holdfast_job (queue, lifecycle, state, turn, gate, due_at_ms, id) WHERE ready;
CREATE INDEX holdfast_job_gate ON holdfast_job (gate) WHERE gate <> '' AND lease_owner IS NOT NULL;
CREATE INDEX holdfast_job_lease ON holdfast_job (lease_until_ms) WHERE lease_until_ms IS NOT NULL;
CREATE INDEX holdfast_job_expiry ON holdfast_job (expires_at_ms)
    WHERE expires_at_ms IS NOT NULL AND finished_at_ms IS NULL;
CREATE INDEX holdfast_job_state ON holdfast_job (state, id);
CREATE INDEX holdfast_job_task ON holdfast_job (task, id);
CREATE INDEX holdfast_job_correlation ON holdfast_job (correlation_id, id) WHERE correlation_id IS NOT NULL;
CREATE INDEX holdfast_job_parent ON holdfast_job (parent_id, id) WHERE parent_id IS NOT NULL;
CREATE INDEX holdfast_job_key ON holdfast_job (key_scope, key, id) WHERE key_scope IS NOT NULL;

CREATE TABLE holdfast_event (
    pos integer PRIMARY KEY AUTOINCREMENT,
    job_id text NOT NULL,
    seq integer NOT NULL,
    type text NOT NULL,
    from_state text,
    to_state text NOT NULL,
    at_ms integer NOT NULL,
    actor text NOT NULL,
    attempt integer NOT NULL,
    reason text,
    cause text,
    payload text,
    payload_digest blob,
    digest blob,
    schema_version integer NOT NULL DEFAULT 1,
    UNIQUE (job_id, seq)
) STRICT;

CREATE INDEX holdfast_event_type ON holdfast_event (type, at_ms);

CREATE TABLE holdfast_signal (
    id integer PRIMARY KEY AUTOINCREMENT,
    job_id text NOT NULL,
    attempt integer NOT NULL,
    type text NOT NULL,
    at_ms integer NOT NULL,
    actor text NOT NULL,
    payload text,
    expires_at_ms integer NOT NULL
) STRICT;
CREATE INDEX holdfast_signal_job ON holdfast_signal (job_id, at_ms);
CREATE INDEX holdfast_signal_expiry ON holdfast_signal (expires_at_ms);

CREATE TABLE holdfast_key (
    scope text NOT NULL,
    key text NOT NULL,
    job_id text NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT;
CREATE INDEX holdfast_key_job ON holdfast_key (job_id);

CREATE TABLE holdfast_op (
    op_id text NOT NULL PRIMARY KEY,
    answer text,
    expires_at_ms integer NOT NULL
) STRICT;
CREATE INDEX holdfast_op_expiry ON holdfast_op (expires_at_ms);

CREATE TABLE holdfast_dead (
    job_id text NOT NULL PRIMARY KEY,
    at_ms integer NOT NULL,
    reason_code text NOT NULL,
    stage text NOT NULL,
    last_error text,
    attempts integer NOT NULL,
    last_owner text,
    last_lease_expires_at_ms integer,
    correlation_id text NOT NULL,
    fingerprint text NOT NULL,
    resolution text
) STRICT;
CREATE INDEX holdfast_dead_group ON holdfast_dead (fingerprint, job_id);
CREATE INDEX holdfast_dead_at ON holdfast_dead (at_ms, job_id);

CREATE TABLE holdfast_seal (
    number integer NOT NULL PRIMARY KEY,
    first_pos integer NOT NULL,
    last_pos integer NOT NULL,
    count integer NOT NULL,
    root blob NOT NULL,
    previous blob NOT NULL,
    head blob NOT NULL,
    purges blob NOT NULL,
    sealed_at_ms integer NOT NULL,
    manifest blob
) STRICT;
CREATE UNIQUE INDEX holdfast_seal_pos ON holdfast_seal (last_pos);

CREATE TABLE holdfast_purge (
    number integer NOT NULL PRIMARY KEY,
    at_ms integer NOT NULL,
    kind text NOT NULL,
    jobs integer NOT NULL,
    events integer NOT NULL,
    first_pos integer NOT NULL,
    last_pos integer NOT NULL,
    ranges text NOT NULL,
    digest blob NOT NULL
) STRICT;

CREATE TABLE holdfast_lifecycle (
    name text NOT NULL PRIMARY KEY,
    definition text NOT NULL,
    at_ms integer NOT NULL
) STRICT;

CREATE TABLE holdfast_step (
    job_id text NOT NULL,
    name text NOT NULL,
    number integer NOT NULL,
    attempt integer NOT NULL,
    at_ms integer NOT NULL,
    result text NOT NULL,
    PRIMARY KEY (job_id, name)
) STRICT;

CREATE TABLE holdfast_checkpoint (
    job_id text NOT NULL PRIMARY KEY,
    attempt integer NOT NULL,
    at_ms integer NOT NULL,
    data text NOT NULL
) STRICT;

CREATE TABLE holdfast_artifact (
    job_id text NOT NULL,
    name text NOT NULL,
    attempt integer NOT NULL,
    at_ms integer NOT NULL,
    digest text NOT NULL,
    size integer NOT NULL,
    PRIMARY KEY (job_id, name)
) STRICT;
CREATE INDEX holdfast_artifact_digest ON holdfast_artifact (digest);

CREATE TABLE holdfast_blob (
    digest text NOT NULL PRIMARY KEY,
    put_id text NOT NULL,
    size integer NOT NULL,
    at_ms integer NOT NULL
) STRICT;

-- Puts of more than one chunk, as long as they are under way.
CREATE TABLE holdfast_put (
    id text NOT NULL PRIMARY KEY,
    at_ms integer NOT NULL
) STRICT;

CREATE TABLE holdfast_chunk (
    put_id text NOT NULL,
    start integer NOT NULL,
    size integer NOT NULL,
    data blob NOT NULL,
    PRIMARY KEY (put_id, start)
) STRICT;

CREATE TABLE holdfast_worker (
    owner text NOT NULL PRIMARY KEY,
    queues text NOT NULL,
    concurrency integer NOT NULL,
    started_at_ms integer NOT NULL,
    seen_at_ms integer NOT NULL,
    stats text
) STRICT;

CREATE TABLE holdfast_queue (
    name text NOT NULL PRIMARY KEY,
    paused_at_ms integer,
    reason text
) STRICT;

CREATE TABLE holdfast_schedule (
    name text NOT NULL PRIMARY KEY,
    task text NOT NULL,
    args text NOT NULL,
    cron text NOT NULL,
    timezone text NOT NULL,
    missed text NOT NULL,
    paused integer NOT NULL,
    last_tick_ms integer NOT NULL,
    next_tick_ms integer NOT NULL,
    spec text NOT NULL DEFAULT '{}'
) STRICT;
CREATE INDEX holdfast_schedule_due ON holdfast_schedule (next_tick_ms);

CREATE TABLE holdfast_gate (
    name text NOT NULL PRIMARY KEY,
    running integer,
    interval_us integer,
    burst integer NOT NULL,
    next_us integer NOT NULL
) STRICT;

CREATE TABLE holdfast_api_key (
    id text NOT NULL PRIMARY KEY,
    name text NOT NULL,
    hash blob NOT NULL UNIQUE,
    scope text NOT NULL,
    created_at_ms integer NOT NULL,
    expires_at_ms integer,
    revoked_at_ms integer,
    last_used_at_ms integer
) STRICT;

-- A flow as it stands: how many of its nodes have not ended, and how those that have not ended well did.
CREATE TABLE holdfast_flow (
    id text NOT NULL PRIMARY KEY,
    on_failure text NOT NULL,
    nodes integer NOT NULL,
    open integer NOT NULL,
    failed integer NOT NULL,
    cancelled integer NOT NULL
) STRICT;

-- A node of a flow, and how the edges into it stand.
CREATE TABLE holdfast_node (
    job_id text NOT NULL PRIMARY KEY,
    flow_id text NOT NULL,
    name text NOT NULL,
    item integer,
    join_kind text NOT NULL,
    need integer NOT NULL,
    parents integer NOT NULL,
    taken integer NOT NULL,
    dead integer NOT NULL,
    broken integer NOT NULL
) STRICT;
CREATE INDEX holdfast_node_flow ON holdfast_node (flow_id, name, item);

-- `cut`: the parent's branch left the child out.
CREATE TABLE holdfast_edge (
    parent_id text NOT NULL,
    child_id text NOT NULL,
    cut integer NOT NULL,
    PRIMARY KEY (parent_id, child_id)
) STRICT;
CREATE INDEX holdfast_edge_child ON holdfast_edge (child_id);

-- When a waiting job moves up, and to which turn.
CREATE TABLE holdfast_deadline (
    job_id text NOT NULL,
    at_ms integer NOT NULL,
    turn integer NOT NULL,
    PRIMARY KEY (job_id, at_ms)
) STRICT;
CREATE INDEX holdfast_deadline_at ON holdfast_deadline (at_ms);
