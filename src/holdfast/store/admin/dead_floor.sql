-- The last of the :reach letters behind a place; none when there are fewer.
SELECT at_ms, job_id::text
FROM holdfast_dead
WHERE (at_ms, job_id) < (:before_ms, :before_id)
ORDER BY at_ms DESC, job_id DESC
LIMIT 1 OFFSET :reach - 1
