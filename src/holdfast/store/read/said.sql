-- What a job said behind a signal: log lines and progress, without its heartbeats.
SELECT {signal}
FROM holdfast_signal
WHERE job_id = :job_id AND id > :after AND type IN ('job_log', 'job_progress')
ORDER BY id
LIMIT :limit
