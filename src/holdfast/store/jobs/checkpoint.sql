-- Where a job said that it was.
SELECT data FROM holdfast_checkpoint WHERE job_id = :job_id
