-- Free the keys of jobs.
DELETE FROM holdfast_key WHERE job_id IN (SELECT value FROM json_each(:ids))
