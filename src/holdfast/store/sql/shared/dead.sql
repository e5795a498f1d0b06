-- Dead letters, newest first.
SELECT
    job_id, at_ms, reason_code, stage, last_error, attempts, last_owner, last_lease_expires_at_ms, correlation_id,
    fingerprint, resolution
FROM holdfast_dead
ORDER BY at_ms DESC, job_id DESC
LIMIT :limit
