-- Remove the dead letters of jobs.
DELETE FROM holdfast_dead WHERE job_id = ANY (:ids::uuid[])
