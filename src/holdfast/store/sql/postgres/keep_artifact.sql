-- Keep a file of a job's, if it is still the writer's; the newest under a name stands.
-- The lock makes the fence hold until the commit.
INSERT INTO holdfast_artifact (job_id, name, attempt, at_ms, data)
SELECT id, :name::text, attempt, coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint), :data::bytea
FROM holdfast_job
WHERE id = :job_id AND attempt = :attempt::integer AND lease_owner = :owner
    AND lease_until_ms > coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
FOR SHARE
ON CONFLICT (job_id, name) DO UPDATE SET attempt = excluded.attempt, at_ms = excluded.at_ms, data = excluded.data
RETURNING name
