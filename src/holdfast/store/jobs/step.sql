-- What a step of a job resulted in.
SELECT result FROM holdfast_step WHERE job_id = :job_id AND name = :name
