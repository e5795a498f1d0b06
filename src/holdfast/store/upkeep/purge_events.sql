-- The events of jobs that may be purged.
SELECT pos, job_id, seq, payload
FROM holdfast_event
WHERE job_id {in :ids::uuid[]}
