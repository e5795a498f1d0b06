-- When a job of a queue was last started, as far as the latest starts of all queues tell.
SELECT max(e.at_ms)
FROM (
    SELECT job_id, at_ms FROM holdfast_event
    WHERE type = 'job_started' AND at_ms >= :since_ms
    ORDER BY at_ms DESC
    LIMIT 500
) AS e
JOIN holdfast_job AS j ON j.id = e.job_id
WHERE j.queue = :queue
