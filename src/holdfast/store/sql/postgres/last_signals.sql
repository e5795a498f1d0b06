-- The last signal of one type of each of these jobs.
SELECT last.id, last.job_id, last.attempt, last.type, last.at_ms, last.actor, last.payload, last.expires_at_ms
FROM unnest(:ids::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT id, job_id, attempt, type, at_ms, actor, payload, expires_at_ms
    FROM holdfast_signal
    WHERE job_id = wanted.id AND type = :type
    ORDER BY at_ms DESC, id DESC
    LIMIT 1
) AS last
