-- When a job of a queue was last started, as far as the latest starts of all queues tell.
SELECT max(lately.at_ms)
FROM (
    SELECT at_ms, {nth ids 0} AS id FROM holdfast_log
    WHERE at_ms >= :since_ms AND path LIKE '%["job_started",%'
    ORDER BY at_ms DESC
    LIMIT 500
) AS lately
JOIN holdfast_job AS j ON j.id = lately.id
WHERE j.queue = :queue
