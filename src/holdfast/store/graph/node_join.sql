-- How a node joins those that it comes after.
SELECT join_kind, need FROM holdfast_node WHERE job_id = :job_id
