-- Remove the dead letters of jobs.
DELETE FROM holdfast_dead WHERE job_id IN (SELECT value FROM json_each(:ids))
