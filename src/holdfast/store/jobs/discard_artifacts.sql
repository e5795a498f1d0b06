-- Forget the files of an attempt that was cancelled for good.
DELETE FROM holdfast_artifact WHERE job_id = :job_id AND attempt = :attempt
