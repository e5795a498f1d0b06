-- Keep where a job is, if it is still the writer's. The lock makes the fence hold until the commit.
INSERT INTO holdfast_checkpoint (job_id, attempt, at_ms, data)
SELECT id, attempt, {now}, :data::text
FROM {fence}
WHERE TRUE
ON CONFLICT (job_id) DO UPDATE SET attempt = excluded.attempt, at_ms = excluded.at_ms, data = excluded.data
RETURNING attempt
