-- Events of every job under one correlation id, the job that gave it its name included. The sum keeps
-- planners from walking the whole log in order and looking for them.
SELECT {event e}, j.correlation_id, j.trace_id
FROM (
    SELECT id, correlation_id, trace_id FROM holdfast_job WHERE correlation_id = :correlation_id
    UNION ALL
    SELECT id, correlation_id, trace_id FROM holdfast_job WHERE id = :id AND correlation_id IS NULL
) AS j
INNER JOIN holdfast_event AS e ON e.job_id = j.id
ORDER BY e.pos + 0
LIMIT :limit
