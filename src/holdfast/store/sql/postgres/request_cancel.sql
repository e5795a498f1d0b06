-- Ask the owners of leased jobs to stop. A hard request is not softened by a later one.
UPDATE holdfast_job AS j
SET cancel_requested = CASE WHEN j.cancel_requested = 'hard' THEN 'hard' ELSE :mode END
FROM unnest(:job_id::uuid[], :attempt::integer[]) AS l (job_id, attempt)
WHERE j.id = l.job_id AND j.attempt = l.attempt AND j.lease_owner IS NOT NULL
RETURNING j.id
