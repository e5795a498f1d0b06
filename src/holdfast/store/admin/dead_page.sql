-- One keyset page of dead letters, newest first, with what their jobs were to do. A filter that is NULL lets all pass.
-- No more than :reach letters are looked at, so that what is rare cannot make a page slow.
SELECT {dead d}, d.task, d.queue
FROM (
    SELECT
        newest.*, (SELECT job.task FROM holdfast_job AS job WHERE job.id = newest.job_id) AS task,
        (SELECT job.queue FROM holdfast_job AS job WHERE job.id = newest.job_id) AS queue
    FROM (
        SELECT * FROM holdfast_dead
        WHERE (at_ms, job_id) < (:before_ms, :before_id)
        ORDER BY at_ms DESC, job_id DESC
        LIMIT :reach
    ) AS newest
) AS d
WHERE d.task IS NOT NULL
    AND (:reason_code::text IS NULL OR d.reason_code = :reason_code::text)
    AND (:stage::text IS NULL OR d.stage = :stage::text)
    AND (:task::text IS NULL OR d.task = :task::text)
    AND (:fingerprint::text IS NULL OR d.fingerprint = :fingerprint::text)
    AND (:resolved::integer IS NULL OR :resolved::integer = CASE WHEN d.resolution IS NULL THEN 0 ELSE 1 END)
ORDER BY d.at_ms DESC, d.job_id DESC
LIMIT :limit
