-- Seals behind a number, without what they cover: a manifest is large.
SELECT number, first_pos, last_pos, count, root, previous, head, purges, sealed_at_ms, NULL AS manifest
FROM holdfast_seal
WHERE number > :after
ORDER BY number
LIMIT :limit
