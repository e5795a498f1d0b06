-- End an owner's leases now, without a transition: whoever takes the jobs over need not wait. A lease that ran out
-- stays as it ended.
UPDATE holdfast_job AS j
SET lease_until_ms = clock.now_ms
FROM (
    SELECT coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now_ms
) AS clock, unnest(:job_id::uuid[], :attempt::integer[]) AS l (job_id, attempt)
WHERE j.id = l.job_id AND j.attempt = l.attempt AND j.lease_owner = :owner AND j.lease_until_ms > clock.now_ms
RETURNING j.id
