-- The nodes that wait for one.
SELECT child_id FROM holdfast_edge WHERE parent_id = :job_id
