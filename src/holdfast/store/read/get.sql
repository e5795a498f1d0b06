-- One job.
SELECT {job}
FROM holdfast_jobs
WHERE id = :id
