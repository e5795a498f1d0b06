-- The nodes that wait for one, by name, and whether it left them out.
SELECT n.name, e.cut
FROM holdfast_edge AS e
JOIN holdfast_node AS n ON n.job_id = e.child_id
WHERE e.parent_id = :job_id
ORDER BY n.name
