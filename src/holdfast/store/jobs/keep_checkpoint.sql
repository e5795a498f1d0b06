-- Keep where a job is, if it is still the writer's. The lock makes the fence hold until the commit.
INSERT INTO holdfast_checkpoint (job_id, attempt, at_ms, data)
SELECT id, attempt, {now}, :data::text
FROM holdfast_job
WHERE id = :job_id AND attempt = :attempt::integer AND lease_owner = :owner AND lease_until_ms > {now}
{share}
ON CONFLICT (job_id) DO UPDATE SET attempt = excluded.attempt, at_ms = excluded.at_ms, data = excluded.data
RETURNING attempt
