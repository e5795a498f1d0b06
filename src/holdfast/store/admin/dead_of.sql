-- The dead letters of some jobs, with what these were to do.
SELECT {dead d}, j.task, j.queue
FROM holdfast_dead AS d
JOIN holdfast_job AS j ON j.id = d.job_id
WHERE d.job_id {in :ids::uuid[]}
