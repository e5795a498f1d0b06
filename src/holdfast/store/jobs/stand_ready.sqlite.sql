-- New jobs can be claimed.
INSERT INTO holdfast_ready (
    queue, lifecycle, state, turn, gate, due_at_ms, id, attempt, version, tries, losses, changed_at_ms, expires_at_ms, pos,
    moved
)
SELECT queue, lifecycle, state, turn, gate, due_at_ms, id, 1, 1, 0, 0, created_at_ms, expires_at_ms, pos, FALSE
FROM holdfast_job
WHERE pos BETWEEN :first AND :last
