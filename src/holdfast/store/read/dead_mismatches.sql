-- Jobs that are dead_lettered without a dead letter, and dead letters without such a job.
SELECT id, 'dead_lettered without a dead letter' AS problem
FROM holdfast_job
WHERE state = 'dead_lettered' AND NOT EXISTS (SELECT 1 FROM holdfast_dead AS d WHERE d.job_id = holdfast_job.id)
UNION ALL
SELECT job_id, 'a dead letter of a job that is not dead_lettered' AS problem
FROM holdfast_dead
WHERE NOT EXISTS (
    SELECT 1 FROM holdfast_job AS j WHERE j.id = holdfast_dead.job_id AND j.state = 'dead_lettered'
)
