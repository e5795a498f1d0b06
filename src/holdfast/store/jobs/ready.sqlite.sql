-- A job that can be claimed again; run for many rows at once.
INSERT INTO holdfast_ready (
    queue, lifecycle, state, turn, gate, due_at_ms, id, attempt, version, tries, losses, changed_at_ms, started_at_ms,
    expires_at_ms, pos, outcome, moved
)
SELECT
    queue, lifecycle, :state, turn, gate, :due_at_ms, id, :attempt, :version, :tries, :losses, :changed_at_ms,
    :started_at_ms, :expires_at_ms, :pos, :outcome, TRUE
FROM holdfast_job
WHERE id = :id
