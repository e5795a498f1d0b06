-- Every worker on record, the last seen first.
SELECT owner, queues, concurrency, started_at_ms, seen_at_ms, stats
FROM holdfast_worker
ORDER BY seen_at_ms DESC, owner
