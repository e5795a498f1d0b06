-- Remove jobs.
DELETE FROM holdfast_job WHERE id = ANY (:ids::uuid[])
