-- Events of one type since a time, oldest first.
SELECT {event e}, j.correlation_id, j.trace_id
FROM holdfast_event AS e
LEFT JOIN holdfast_job AS j ON j.id = e.job_id
WHERE e.type = :type AND e.at_ms >= :since_ms
ORDER BY e.at_ms
LIMIT :limit
