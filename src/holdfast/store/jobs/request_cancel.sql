-- Ask the owners of leased jobs to stop. A hard request is not softened by a later one.
UPDATE holdfast_job
SET cancel_requested = CASE WHEN cancel_requested = 'hard' THEN 'hard' ELSE :mode END
FROM {leases l}
WHERE holdfast_job.id = l.job_id AND holdfast_job.attempt = l.attempt AND lease_owner IS NOT NULL
RETURNING id
