-- Note what became of a dead letter; run for many rows at once.
UPDATE holdfast_dead SET resolution = :resolution WHERE job_id = :job_id
