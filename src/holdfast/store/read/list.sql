-- One stretch of an index, newest first. Which index and which further filters are fixed texts, never values. What is
-- filtered stands outside, behind a limit: no other index will do then, and the stretch has an end.
SELECT {job}
FROM holdfast_jobs
WHERE id {in SELECT id
FROM (SELECT * FROM {walked} WHERE {range} ORDER BY {order} LIMIT :reach) AS stretch
WHERE id >= :low {where}
ORDER BY {order}
LIMIT :limit}
ORDER BY id DESC
