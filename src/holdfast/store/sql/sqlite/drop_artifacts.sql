-- The artifacts of jobs that are removed.
DELETE FROM holdfast_artifact WHERE job_id IN (SELECT value FROM json_each(:ids))
