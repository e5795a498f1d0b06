-- The flows of some jobs, locked before anything of them is written: whoever comes second sees what the first did.
{postgres WITH locked AS MATERIALIZED (
    SELECT id FROM holdfast_flow
    WHERE id {in SELECT flow_id FROM holdfast_node WHERE job_id {in :ids::uuid[]}}
    ORDER BY id
    {lock}
)}
SELECT n.job_id, n.flow_id
FROM holdfast_node AS n
WHERE n.job_id {in :ids::uuid[]} {postgres AND (SELECT count(*) FROM locked) > 0}
