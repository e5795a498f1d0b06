-- The edges into the nodes of a flow.
SELECT e.parent_id, e.child_id, e.cut
FROM holdfast_node AS n
JOIN holdfast_edge AS e ON e.child_id = n.job_id
WHERE n.flow_id = :flow_id
