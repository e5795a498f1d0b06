-- What running jobs keep, who works, which queues are paused, and what is scheduled.

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
    data blob NOT NULL,
    PRIMARY KEY (job_id, name)
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
    next_tick_ms integer NOT NULL
) STRICT;
CREATE INDEX holdfast_schedule_due ON holdfast_schedule (next_tick_ms);
