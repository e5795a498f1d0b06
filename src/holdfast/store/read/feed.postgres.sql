-- Rows of the log behind a place, with the oldest transaction that was under way when they were read.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xmin, {row}
FROM holdfast_row
WHERE pos > :after
ORDER BY pos
LIMIT :limit::bigint
