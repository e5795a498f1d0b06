-- One file of a job: which bytes it is.
SELECT name, size, at_ms, digest FROM holdfast_artifact WHERE job_id = :job_id AND name = :name
