-- Remember a step's result, if the job is still the writer's. The first result stands.
INSERT INTO holdfast_step (job_id, name, number, attempt, at_ms, result)
SELECT
    id, :name, (SELECT count(*) + 1 FROM holdfast_step AS s WHERE s.job_id = :job_id), attempt, :now_ms, :result
FROM holdfast_job
WHERE id = :job_id AND attempt = :attempt AND lease_owner = :owner AND lease_until_ms > :now_ms
ON CONFLICT (job_id, name) DO UPDATE SET attempt = excluded.attempt
RETURNING number
