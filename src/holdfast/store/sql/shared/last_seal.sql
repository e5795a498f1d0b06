-- The newest seal.
SELECT number, first_pos, last_pos, count, root, previous, head, purges, sealed_at_ms, manifest
FROM holdfast_seal
ORDER BY number DESC
LIMIT 1
