-- The nodes of a flow with where their jobs stand, in the order of their names.
SELECT
    n.job_id, n.name, n.item, n.join_kind, n.need, n.parents, n.taken, n.dead, n.broken, j.state, j.attempt, j.task,
    j.created_at_ms, j.due_at_ms, j.started_at_ms, j.finished_at_ms, j.tries
FROM holdfast_node AS n
JOIN holdfast_job AS j ON j.id = n.job_id
WHERE n.flow_id = :flow_id
ORDER BY n.name, n.item
