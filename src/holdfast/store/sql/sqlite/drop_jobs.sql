-- Remove jobs.
DELETE FROM holdfast_job WHERE id IN (SELECT value FROM json_each(:ids))
