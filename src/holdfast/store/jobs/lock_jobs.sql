-- Jobs that are about to be changed. A flow is locked by its own row, and before its job; whoever brings back what is over
-- takes its key before its job. Who changes the others names the place that it saw: one who came first is seen by it.
SELECT {job}
FROM holdfast_jobs
WHERE id {in :ids::uuid[]} AND lifecycle <> 'flow' AND finished_at_ms IS NULL
ORDER BY id
