-- The nodes of a flow that have not ended.
SELECT j.id, j.state, j.attempt
FROM holdfast_node AS n
JOIN holdfast_jobs AS j ON j.id = n.job_id
WHERE n.flow_id = :flow_id AND j.finished_at_ms IS NULL
ORDER BY j.id
