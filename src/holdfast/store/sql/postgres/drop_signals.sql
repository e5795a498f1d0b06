-- Remove the signals of jobs.
DELETE FROM holdfast_signal WHERE job_id = ANY (:ids::uuid[])
