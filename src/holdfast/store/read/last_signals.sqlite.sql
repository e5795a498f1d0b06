-- The last signal of one type of each of these jobs.
SELECT {signal}
FROM holdfast_signal
WHERE id IN (
    SELECT (
        SELECT s.id FROM holdfast_signal AS s
        WHERE s.job_id = wanted.value AND s.type = :type
        ORDER BY s.at_ms DESC, s.id DESC
        LIMIT 1
    )
    FROM json_each(:ids) AS wanted
)
