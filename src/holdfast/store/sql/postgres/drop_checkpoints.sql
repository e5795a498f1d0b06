-- The checkpoints of jobs that are removed.
DELETE FROM holdfast_checkpoint WHERE job_id = ANY (:ids::uuid[])
