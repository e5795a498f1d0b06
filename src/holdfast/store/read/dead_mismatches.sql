-- Jobs that are dead_lettered without a dead letter, and dead letters without such a job.
SELECT id, 'dead_lettered without a dead letter' AS problem
FROM holdfast_rest
WHERE state = 'dead_lettered' AND NOT EXISTS (SELECT 1 FROM holdfast_dead AS d WHERE d.job_id = holdfast_rest.id)
UNION ALL
SELECT job_id, 'a dead letter of a job that is not dead_lettered' AS problem
FROM holdfast_dead
WHERE NOT EXISTS (
    SELECT 1 FROM holdfast_rest AS r WHERE r.id = holdfast_dead.job_id AND r.state = 'dead_lettered'
)
