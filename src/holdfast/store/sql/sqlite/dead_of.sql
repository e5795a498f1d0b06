-- The dead letters of some jobs, with what these were to do.
SELECT
    d.job_id, d.at_ms, d.reason_code, d.stage, d.last_error, d.attempts, d.last_owner, d.last_lease_expires_at_ms,
    d.correlation_id, d.fingerprint, d.resolution, j.task, j.queue
FROM holdfast_dead AS d
JOIN holdfast_job AS j ON j.id = d.job_id
WHERE d.job_id IN (SELECT value FROM json_each(:ids))
