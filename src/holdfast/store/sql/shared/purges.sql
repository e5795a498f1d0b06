-- What retention removed, in order, behind a number.
SELECT number, at_ms, kind, jobs, events, first_pos, last_pos, ranges, digest
FROM holdfast_purge
WHERE number > :after
ORDER BY number
LIMIT :limit
