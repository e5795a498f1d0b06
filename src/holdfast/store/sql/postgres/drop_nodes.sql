-- The nodes that removed jobs were.
DELETE FROM holdfast_node WHERE job_id = ANY (:ids::uuid[])
