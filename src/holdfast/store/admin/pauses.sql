-- The queues that are paused.
SELECT name, paused_at_ms, reason FROM holdfast_queue WHERE paused_at_ms IS NOT NULL
