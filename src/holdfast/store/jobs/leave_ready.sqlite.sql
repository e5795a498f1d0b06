-- Jobs cannot be claimed any more. What is not returned was refused.
DELETE FROM holdfast_ready
WHERE (queue, lifecycle, state, turn, gate, due_at_ms, id) IN (
    SELECT place.queue, :lifecycle, :source, place.turn, place.gate, place.due_at_ms, place.id
    FROM json_each(:moves) AS move
    CROSS JOIN holdfast_jobs AS place ON place.id = move.value ->> 0
    WHERE place.ready AND place.attempt = move.value ->> 1
)
RETURNING
    id, attempt, version, tries, losses, due_at_ms AS due_at_ms, changed_at_ms, started_at_ms, NULL AS finished_at_ms,
    expires_at_ms, pos, outcome, NULL AS outcome_digest
