-- Remove the signals of jobs.
DELETE FROM holdfast_signal WHERE job_id IN (SELECT value FROM json_each(:ids))
