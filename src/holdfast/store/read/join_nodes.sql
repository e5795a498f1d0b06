-- The nodes of the flows between two ids, these included: what they count of their parents, and where their jobs stand.
SELECT n.flow_id, {standing n}, j.state
FROM holdfast_node AS n
JOIN holdfast_jobs AS j ON j.id = n.job_id
WHERE n.flow_id >= :first AND n.flow_id <= :last
