-- What a job signalled, oldest first.
SELECT {signal}
FROM holdfast_signal
WHERE job_id = :job_id
ORDER BY id
