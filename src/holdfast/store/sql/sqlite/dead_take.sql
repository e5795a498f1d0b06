-- Dead letters to be resolved. Locked, so that each is resolved once.
SELECT job_id, resolution
FROM holdfast_dead
WHERE job_id IN (SELECT value FROM json_each(:ids))
ORDER BY job_id
