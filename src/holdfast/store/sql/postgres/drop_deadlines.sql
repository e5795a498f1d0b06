-- The deadlines of jobs that are removed.
DELETE FROM holdfast_deadline WHERE job_id = ANY (:ids::uuid[])
