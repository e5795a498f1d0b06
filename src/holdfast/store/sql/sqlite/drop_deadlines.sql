-- The deadlines of jobs that are removed.
DELETE FROM holdfast_deadline WHERE job_id IN (SELECT value FROM json_each(:ids))
