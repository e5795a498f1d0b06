-- What is claimed next: turns in place of priorities, the lowest first, so that a waiting job may move up, and gates
-- for jobs that share a limit.
ALTER TABLE holdfast_job ADD COLUMN turn integer NOT NULL DEFAULT 0;
ALTER TABLE holdfast_job ADD COLUMN gate text NOT NULL DEFAULT '';
UPDATE holdfast_job SET turn = -priority WHERE priority <> 0;
DROP INDEX holdfast_job_ready;
CREATE INDEX holdfast_job_ready ON holdfast_job (queue, lifecycle, state, turn, gate, due_at_ms, id) WHERE ready;
CREATE INDEX holdfast_job_gate ON holdfast_job (gate) WHERE gate <> '' AND lease_owner IS NOT NULL;

CREATE TABLE holdfast_gate (
    name text NOT NULL PRIMARY KEY,
    running integer,
    interval_us integer,
    burst integer NOT NULL,
    next_us integer NOT NULL
) STRICT;
