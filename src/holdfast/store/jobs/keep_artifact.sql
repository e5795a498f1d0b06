-- Keep a file of a job's, if it is still the writer's; the newest under a name stands.
-- The lock makes the fence hold until the commit.
INSERT INTO holdfast_artifact (job_id, name, attempt, at_ms, digest, size)
SELECT id, :name::text, attempt, {now}, :digest::text, :size::bigint
FROM {fence}
WHERE TRUE
ON CONFLICT (job_id, name) DO UPDATE
SET attempt = excluded.attempt, at_ms = excluded.at_ms, digest = excluded.digest, size = excluded.size
RETURNING name
