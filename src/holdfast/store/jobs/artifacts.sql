-- The files of a job, by name.
SELECT name, size, at_ms, digest FROM holdfast_artifact WHERE job_id = :job_id ORDER BY name
