-- What a job signalled, oldest first.
SELECT id, job_id, attempt, type, at_ms, actor, payload, expires_at_ms
FROM holdfast_signal
WHERE job_id = :job_id
ORDER BY id
