-- What retention removed, in order.
SELECT number, at_ms, kind, jobs, events, first_pos, last_pos, ranges, digest
FROM holdfast_purge
ORDER BY number
