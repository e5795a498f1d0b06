-- New jobs wait for something else than a worker.
INSERT INTO holdfast_rest (id, state, attempt, version, tries, losses, changed_at_ms, expires_at_ms, pos)
SELECT id, state, 1, 1, 0, 0, created_at_ms, expires_at_ms, pos
FROM holdfast_job
WHERE pos BETWEEN :first AND :last
