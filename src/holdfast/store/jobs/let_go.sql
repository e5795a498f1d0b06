-- End an owner's leases now, without a transition: whoever takes the jobs over need not wait. A lease that ran out
-- stays as it ended.
UPDATE holdfast_job
SET lease_until_ms = clock.now_ms
FROM (SELECT {now} AS now_ms) AS clock, {leases l}
WHERE holdfast_job.id = l.job_id AND holdfast_job.attempt = l.attempt AND lease_owner = :owner
    AND lease_until_ms > clock.now_ms
RETURNING id
