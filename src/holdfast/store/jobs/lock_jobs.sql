-- Jobs that are about to be changed, locked in order. A flow is locked by its own row, and before its job; whoever brings
-- back what is over takes its key before its job.
SELECT {job}
FROM holdfast_job
WHERE id {in :ids::uuid[]} AND lifecycle <> 'flow' AND finished_at_ms IS NULL
ORDER BY id
{lock}
