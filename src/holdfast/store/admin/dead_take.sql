-- Dead letters to be resolved. Locked, so that each is resolved once.
SELECT job_id, resolution
FROM holdfast_dead
WHERE job_id {in :ids::uuid[]}
ORDER BY job_id
{lock}
