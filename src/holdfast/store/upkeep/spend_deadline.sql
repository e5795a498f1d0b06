-- A deadline is spent; run for many rows at once.
DELETE FROM holdfast_deadline WHERE job_id = :job_id AND at_ms = :at_ms
