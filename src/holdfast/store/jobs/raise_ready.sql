-- Move jobs that can be claimed up to a turn.
UPDATE holdfast_ready
SET turn = l.turn, moved = TRUE
FROM {turns l}
JOIN holdfast_jobs AS place ON place.id = l.job_id
WHERE place.ready AND place.turn > l.turn
    AND holdfast_ready.queue = place.queue AND holdfast_ready.lifecycle = place.lifecycle
    AND holdfast_ready.state = place.state AND holdfast_ready.turn = place.turn AND holdfast_ready.gate = place.gate
    AND holdfast_ready.due_at_ms = place.due_at_ms AND holdfast_ready.id = place.id
