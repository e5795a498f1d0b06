-- What a job signalled of one type behind a signal, oldest first.
SELECT {signal}
FROM holdfast_signal
WHERE job_id = :job_id AND type = :type AND id > :after
ORDER BY id
LIMIT :limit
