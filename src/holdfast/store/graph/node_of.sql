-- The node that a job is.
SELECT flow_id, name, item FROM holdfast_node WHERE job_id = :job_id
