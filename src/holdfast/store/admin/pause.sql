-- Pause a queue; one that is paused stays so since it was, under the newer reason.
INSERT INTO holdfast_queue (name, paused_at_ms, reason)
VALUES (:name, :now_ms, :reason)
ON CONFLICT (name) DO UPDATE SET
    paused_at_ms = coalesce(holdfast_queue.paused_at_ms, excluded.paused_at_ms),
    reason = coalesce(excluded.reason, holdfast_queue.reason)
RETURNING name
