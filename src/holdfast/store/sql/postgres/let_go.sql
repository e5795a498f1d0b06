-- End an owner's leases now, without a transition: whoever takes the jobs over need not wait.
UPDATE holdfast_job AS j
SET lease_until_ms = coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
FROM unnest(:job_id::uuid[], :attempt::integer[]) AS l (job_id, attempt)
WHERE j.id = l.job_id AND j.attempt = l.attempt AND j.lease_owner = :owner AND j.lease_until_ms IS NOT NULL
RETURNING j.id
