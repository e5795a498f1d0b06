-- The nodes that removed jobs were.
DELETE FROM holdfast_node WHERE job_id IN (SELECT value FROM json_each(:ids))
