-- One stretch of an index, newest first. Which index and which further filters are fixed texts, never values.
SELECT {job}
FROM holdfast_job
WHERE {range} {where}
ORDER BY {order}
LIMIT :limit
