-- A worker says that it is there, and how it is doing.
INSERT INTO holdfast_worker (owner, queues, concurrency, started_at_ms, seen_at_ms, stats)
VALUES (:owner, :queues, :concurrency, :now_ms, :now_ms, :stats)
ON CONFLICT (owner) DO UPDATE SET seen_at_ms = excluded.seen_at_ms, stats = excluded.stats
