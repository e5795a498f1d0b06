-- Events by (job, seq) behind one, for the audit.
SELECT {event}
FROM holdfast_event
WHERE (job_id, seq) > (:job_id, :seq)
ORDER BY job_id, seq
LIMIT :limit
