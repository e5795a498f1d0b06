-- The steps that a job has done, in order.
SELECT name, attempt FROM holdfast_step WHERE job_id = :job_id ORDER BY number, at_ms
