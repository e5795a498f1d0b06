-- The files of a job, by name.
SELECT name, length(data), at_ms FROM holdfast_artifact WHERE job_id = :job_id ORDER BY name
