-- The flows of some jobs; the writer is alone, so that nothing needs to be locked.
SELECT job_id, flow_id FROM holdfast_node WHERE job_id IN (SELECT value FROM json_each(:ids))
