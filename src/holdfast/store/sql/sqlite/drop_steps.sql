-- The steps of jobs that are removed.
DELETE FROM holdfast_step WHERE job_id IN (SELECT value FROM json_each(:ids))
