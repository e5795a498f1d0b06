-- Part of `apply`: jobs can be claimed again.
entered AS (
    INSERT INTO holdfast_ready (
        queue, lifecycle, state, turn, gate, due_at_ms, id, attempt, version, tries, losses, changed_at_ms,
        started_at_ms, expires_at_ms, pos, outcome, moved
    )
    SELECT
        j.queue, j.lifecycle, :target, j.turn, j.gate, moved.due_at_ms, moved.id, moved.attempt, moved.version,
        moved.tries, moved.losses, moved.at_ms, moved.started_at_ms, moved.expires_at_ms, moved.pos, moved.outcome, TRUE
    FROM moved
    JOIN holdfast_job AS j ON j.id = moved.id
)
