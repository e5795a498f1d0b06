-- Why nodes of a flow were skipped or cancelled: what their last event says.
SELECT j.id, e.reason
FROM holdfast_node AS n
JOIN holdfast_job AS j ON j.id = n.job_id
JOIN holdfast_event AS e ON e.job_id = j.id AND e.seq = j.version
WHERE n.flow_id = :flow_id AND j.state IN ('skipped', 'cancelled')
