-- The checkpoints of jobs that are removed.
DELETE FROM holdfast_checkpoint WHERE job_id IN (SELECT value FROM json_each(:ids))
