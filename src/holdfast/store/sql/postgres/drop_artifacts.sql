-- The artifacts of jobs that are removed.
DELETE FROM holdfast_artifact WHERE job_id = ANY (:ids::uuid[])
