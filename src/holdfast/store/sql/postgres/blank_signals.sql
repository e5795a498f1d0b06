-- Remove what the signals of jobs said.
UPDATE holdfast_signal SET payload = NULL WHERE job_id = ANY (:ids::uuid[]) AND payload IS NOT NULL
