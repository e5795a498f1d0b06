-- The nodes of a flow with where their jobs stand, in the order of their names.
SELECT {standing n}, {progress j}
FROM holdfast_node AS n
JOIN holdfast_jobs AS j ON j.id = n.job_id
WHERE n.flow_id = :flow_id
ORDER BY n.name, n.item
