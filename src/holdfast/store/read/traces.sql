-- What jobs have in common with others, of those that have something.
SELECT id, correlation_id, trace_id
FROM holdfast_job
WHERE id {in :ids::uuid[]} AND (correlation_id IS NOT NULL OR trace_id IS NOT NULL)
