-- Remove what the signals of jobs said.
UPDATE holdfast_signal SET payload = NULL WHERE job_id IN (SELECT value FROM json_each(:ids)) AND payload IS NOT NULL
