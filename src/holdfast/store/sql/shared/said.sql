-- What a job said behind a signal: log lines and progress, without its heartbeats.
SELECT id, job_id, attempt, type, at_ms, actor, payload, expires_at_ms
FROM holdfast_signal
WHERE job_id = :job_id AND id > :after AND type IN ('job_log', 'job_progress')
ORDER BY id
LIMIT :limit
