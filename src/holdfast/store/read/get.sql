-- One job.
SELECT {job}
FROM holdfast_job
WHERE id = :id
