-- Why nodes of a flow were skipped or cancelled: what their last event says.
SELECT r.id, {nth log.reasons {index log.ids r.id}}
FROM holdfast_node AS n
JOIN holdfast_rest AS r ON r.id = n.job_id
JOIN holdfast_log AS log ON log.pos = r.pos
WHERE n.flow_id = :flow_id AND r.state IN ('skipped', 'cancelled')
