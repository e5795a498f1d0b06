-- Since when nodes of a flow could run: when each was last made ready, at its submit, its release or its return.
SELECT e.job_id, max(e.at_ms)
FROM holdfast_node AS n
JOIN holdfast_event AS e ON e.job_id = n.job_id
WHERE n.flow_id = :flow_id AND e.to_state = 'queued'
GROUP BY e.job_id
