-- What never changes about jobs and their events do not say, for whoever follows the log.
SELECT id, lifecycle, task, queue, correlation_id, trace_id FROM holdfast_job WHERE id {in :ids::uuid[]}
