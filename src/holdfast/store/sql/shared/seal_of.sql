-- The seal that covers a position, if one does.
SELECT number, first_pos, last_pos, count, root, previous, head, purges, sealed_at_ms, manifest
FROM holdfast_seal
WHERE last_pos >= :pos
ORDER BY last_pos
LIMIT 1
