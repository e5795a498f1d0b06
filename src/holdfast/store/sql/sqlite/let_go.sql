-- End an owner's leases now, without a transition: whoever takes the jobs over need not wait. A lease that ran out
-- stays as it ended.
UPDATE holdfast_job
SET lease_until_ms = :now_ms
FROM (SELECT value ->> 0 AS job_id, value ->> 1 AS attempt FROM json_each(:leases)) AS l
WHERE holdfast_job.id = l.job_id AND holdfast_job.attempt = l.attempt AND lease_owner = :owner
    AND lease_until_ms > :now_ms
RETURNING id
