-- Several jobs by id.
SELECT {job}
FROM holdfast_jobs
WHERE id {in :ids::uuid[]}
