-- The highest position of the log.
SELECT coalesce(max(pos), 0) FROM holdfast_event
