-- The names of the tasks that have jobs: each step skips all the jobs of one.
WITH RECURSIVE names (task) AS (
    SELECT (SELECT task FROM holdfast_job ORDER BY task LIMIT 1)
    UNION ALL
    SELECT (SELECT j.task FROM holdfast_job AS j WHERE j.task > names.task ORDER BY j.task LIMIT 1)
    FROM names
    WHERE names.task IS NOT NULL
)
SELECT task FROM names WHERE task IS NOT NULL LIMIT :limit
