-- Free the keys of jobs.
DELETE FROM holdfast_key WHERE job_id = ANY (:ids::uuid[])
