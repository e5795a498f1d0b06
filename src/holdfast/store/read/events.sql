-- A job's events in order.
SELECT {event e}, j.correlation_id, j.trace_id
FROM holdfast_event AS e
LEFT JOIN holdfast_job AS j ON j.id = e.job_id
WHERE e.job_id = :job_id
ORDER BY e.seq
