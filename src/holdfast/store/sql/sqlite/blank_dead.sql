-- Remove what the dead letters of jobs quote of their outcome.
UPDATE holdfast_dead SET last_error = NULL WHERE job_id IN (SELECT value FROM json_each(:ids)) AND last_error IS NOT NULL
