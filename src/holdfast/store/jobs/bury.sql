-- One dead letter for a job that was just dead-lettered; run for many rows at once.
INSERT INTO holdfast_dead (
    job_id, at_ms, reason_code, stage, last_error, attempts, last_owner, last_lease_expires_at_ms, fingerprint,
    correlation_id
)
SELECT
    id, changed_at_ms, :reason_code::text, :stage::text, :last_error::text, :attempts::integer, :last_owner::text,
    :last_lease_expires_at_ms::bigint, :fingerprint::text, coalesce(correlation_id, id::text)
FROM holdfast_jobs
WHERE id = :job_id
