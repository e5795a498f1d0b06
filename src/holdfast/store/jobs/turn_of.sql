-- How urgent a job is by now.
SELECT turn FROM holdfast_job WHERE id = :id
