-- A job that waits for something else than a worker, or is over; run for many rows at once.
INSERT INTO holdfast_rest (
    id, attempt, version, tries, losses, due_at_ms, started_at_ms, expires_at_ms, outcome, finished_at_ms, outcome_digest,
    state, changed_at_ms, pos
)
VALUES (
    :id, :attempt, :version, :tries, :losses, :due_at_ms, :started_at_ms, :expires_at_ms, :outcome, :finished_at_ms,
    :outcome_digest, :state, :changed_at_ms, :pos
)
