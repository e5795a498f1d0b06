-- One dead letter for a job that was just dead-lettered; run for many rows at once.
INSERT INTO holdfast_dead (
    job_id, at_ms, reason_code, stage, last_error, attempts, last_owner, last_lease_expires_at_ms, fingerprint,
    correlation_id
)
SELECT
    id, changed_at_ms, CAST(:reason_code AS text), CAST(:stage AS text), CAST(:last_error AS text),
    CAST(:attempts AS integer), CAST(:last_owner AS text), CAST(:last_lease_expires_at_ms AS bigint),
    CAST(:fingerprint AS text), coalesce(correlation_id, CAST(id AS text))
FROM holdfast_job
WHERE id = :job_id
