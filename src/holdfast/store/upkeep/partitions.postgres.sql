-- The weekly partitions of the log.
SELECT c.relname::text
FROM pg_inherits AS i
INNER JOIN pg_class AS c ON c.oid = i.inhrelid
WHERE i.inhparent = 'holdfast_event'::regclass AND c.relname LIKE 'holdfast\_event\_____w__'
ORDER BY 1
