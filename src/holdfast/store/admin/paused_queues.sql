-- The queues that nothing is claimed from.
SELECT name FROM holdfast_queue WHERE paused_at_ms IS NOT NULL
