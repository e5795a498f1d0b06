-- The nodes of earlier flows that nodes of a flow come after, with where their jobs stand.
SELECT DISTINCT
    p.job_id, p.name, p.item, p.join_kind, p.need, p.parents, p.taken, p.dead, p.broken, j.state, j.attempt, j.task,
    j.created_at_ms, j.due_at_ms, j.started_at_ms, j.finished_at_ms, j.tries
FROM holdfast_node AS n
JOIN holdfast_edge AS e ON e.child_id = n.job_id
JOIN holdfast_node AS p ON p.job_id = e.parent_id
JOIN holdfast_job AS j ON j.id = p.job_id
WHERE n.flow_id = :flow_id AND p.flow_id <> n.flow_id
ORDER BY p.name, p.item
