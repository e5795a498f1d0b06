-- The flows of some jobs, locked before anything of them is written: whoever comes second sees what the first did.
WITH locked AS MATERIALIZED (
    SELECT id FROM holdfast_flow
    WHERE id = ANY (ARRAY(SELECT flow_id FROM holdfast_node WHERE job_id = ANY (:ids::uuid[])))
    ORDER BY id
    FOR UPDATE
)
SELECT n.job_id, n.flow_id
FROM holdfast_node AS n
WHERE n.job_id = ANY (:ids::uuid[]) AND (SELECT count(*) FROM locked) > 0
