-- Part of `apply`: jobs wait for something else than a worker, or are over.
entered AS (
    INSERT INTO holdfast_rest (
        id, state, attempt, version, tries, losses, due_at_ms, changed_at_ms, started_at_ms, finished_at_ms,
        expires_at_ms, pos, outcome, outcome_digest
    )
    SELECT
        id, :target, attempt, version, tries, losses, due_at_ms, at_ms, started_at_ms, finished_at_ms, expires_at_ms,
        pos, outcome, outcome_digest
    FROM moved
)
