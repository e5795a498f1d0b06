-- Let a paused queue be claimed from again.
UPDATE holdfast_queue SET paused_at_ms = NULL, reason = NULL
WHERE name = :name AND paused_at_ms IS NOT NULL
RETURNING name
