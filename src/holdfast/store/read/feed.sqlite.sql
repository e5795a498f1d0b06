-- Events behind a position. The writer is alone: nothing commits late.
SELECT
    0 AS xmin,
    {event e}, j.correlation_id, j.trace_id
FROM holdfast_event AS e
LEFT JOIN holdfast_job AS j ON j.id = e.job_id
WHERE e.pos > :after
ORDER BY e.pos
LIMIT :limit
