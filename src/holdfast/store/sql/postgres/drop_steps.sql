-- The steps of jobs that are removed.
DELETE FROM holdfast_step WHERE job_id = ANY (:ids::uuid[])
