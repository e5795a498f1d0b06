-- Several jobs by id.
SELECT {job}
FROM holdfast_job
WHERE id {in :ids::uuid[]}
