-- The edges into the nodes of the flows between two ids, these included, and where the parents' jobs stand.
SELECT e.child_id, e.parent_id, e.cut, j.state, p.name, p.item, p.flow_id
FROM holdfast_node AS n
JOIN holdfast_edge AS e ON e.child_id = n.job_id
JOIN holdfast_node AS p ON p.job_id = e.parent_id
JOIN holdfast_jobs AS j ON j.id = e.parent_id
WHERE n.flow_id >= :first AND n.flow_id <= :last
