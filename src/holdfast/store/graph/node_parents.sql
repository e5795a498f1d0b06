-- The parents of a node: their names, where they stand, what came out of them, and whether they left it out.
SELECT p.name, p.item, j.state, j.outcome, j.id, e.cut
FROM holdfast_edge AS e
JOIN holdfast_node AS p ON p.job_id = e.parent_id
JOIN holdfast_jobs AS j ON j.id = e.parent_id
WHERE e.child_id = :job_id
ORDER BY p.name, p.item
