-- One page of all jobs by id, its end marked, with what retention goes by: a walk that costs the same wherever it is.
SELECT id, lifecycle, state, finished_at_ms, keep_until_ms
FROM holdfast_jobs
WHERE id > :after
ORDER BY id
LIMIT :limit
