-- The last signal of one type of each of these jobs.
SELECT {signal last}
FROM unnest(:ids::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT {signal}
    FROM holdfast_signal
    WHERE job_id = wanted.id AND type = :type
    ORDER BY at_ms DESC, id DESC
    LIMIT 1
) AS last
