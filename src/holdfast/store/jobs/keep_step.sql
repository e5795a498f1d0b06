-- Remember a step's result, if the job is still the writer's. The first result stands.
-- The lock makes the fence hold until the write is committed: nobody can take the job in between.
INSERT INTO holdfast_step (job_id, name, number, attempt, at_ms, result)
SELECT
    id, :name::text, (SELECT count(*) + 1 FROM holdfast_step AS s WHERE s.job_id = :job_id), attempt, {now}, :result::text
FROM {fence}
WHERE TRUE
ON CONFLICT (job_id, name) DO UPDATE SET attempt = excluded.attempt
RETURNING number
