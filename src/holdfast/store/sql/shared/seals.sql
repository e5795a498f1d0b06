-- Seals behind a number, in order.
SELECT number, first_pos, last_pos, count, root, previous, head, purges, sealed_at_ms, manifest
FROM holdfast_seal
WHERE number > :after
ORDER BY number
LIMIT :limit
