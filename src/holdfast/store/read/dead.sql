-- Dead letters, newest first.
SELECT {dead}
FROM holdfast_dead
ORDER BY at_ms DESC, job_id DESC
LIMIT :limit
