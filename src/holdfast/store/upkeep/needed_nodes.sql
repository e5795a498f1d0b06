-- Which of these jobs a flow that is under way still needs: its own nodes, and those that its nodes come after.
SELECT n.job_id
FROM holdfast_node AS n
JOIN holdfast_flow AS f ON f.id = n.flow_id
WHERE n.job_id {in :ids::uuid[]} AND f.open > 0
UNION
SELECT e.parent_id
FROM holdfast_edge AS e
JOIN holdfast_node AS n ON n.job_id = e.child_id
JOIN holdfast_flow AS f ON f.id = n.flow_id
WHERE e.parent_id {in :ids::uuid[]} AND f.open > 0
