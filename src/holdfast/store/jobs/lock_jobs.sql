-- Jobs that are about to be changed, locked in order; flows are locked by their own row, and before their jobs.
SELECT {job}
FROM holdfast_job
WHERE id {in :ids::uuid[]} AND lifecycle <> 'flow'
ORDER BY id
{lock}
