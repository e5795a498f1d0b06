-- Remove what the dead letters of jobs quote of their outcome.
UPDATE holdfast_dead SET last_error = NULL WHERE job_id {in :ids::uuid[]} AND last_error IS NOT NULL
