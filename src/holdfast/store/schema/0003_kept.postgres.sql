-- What running jobs keep, who works, which queues are paused, and what is scheduled.

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
    data bytea NOT NULL,
    PRIMARY KEY (job_id, name)
);

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
    next_tick_ms bigint NOT NULL
);
CREATE INDEX holdfast_schedule_due ON holdfast_schedule (next_tick_ms);
