-- The nodes of earlier flows that nodes of a flow come after, with where their jobs stand.
SELECT DISTINCT {standing p}, {progress j}
FROM holdfast_node AS n
JOIN holdfast_edge AS e ON e.child_id = n.job_id
JOIN holdfast_node AS p ON p.job_id = e.parent_id
JOIN holdfast_jobs AS j ON j.id = p.job_id
WHERE n.flow_id = :flow_id AND p.flow_id <> n.flow_id
ORDER BY p.name, p.item
