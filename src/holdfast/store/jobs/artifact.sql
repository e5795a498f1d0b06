-- One file of a job.
SELECT data FROM holdfast_artifact WHERE job_id = :job_id AND name = :name
