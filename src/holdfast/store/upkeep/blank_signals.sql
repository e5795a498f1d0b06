-- Remove what the signals of jobs said.
UPDATE holdfast_signal SET payload = NULL WHERE job_id {in :ids::uuid[]} AND payload IS NOT NULL
