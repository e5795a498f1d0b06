-- Extend an owner's leases. What is not returned is lost.
UPDATE holdfast_job
SET lease_until_ms = :now_ms + lease_ms
FROM {leases l}
WHERE holdfast_job.id = l.job_id
    AND holdfast_job.attempt = l.attempt
    AND lease_owner = :owner
    AND lease_until_ms > :now_ms
RETURNING id, holdfast_job.attempt
