-- The jobs of a flow's nodes.
SELECT job_id FROM holdfast_node WHERE flow_id = :flow_id
