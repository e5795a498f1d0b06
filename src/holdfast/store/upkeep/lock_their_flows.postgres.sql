-- Lock the flows that some jobs are, or are nodes of, so that none is brought back meanwhile. Flows before jobs.
SELECT id FROM holdfast_flow
WHERE id = ANY (
    ARRAY(
        SELECT unnest(:ids::uuid[])
        UNION ALL
        SELECT flow_id FROM holdfast_node WHERE job_id = ANY (:ids::uuid[])
    )
)
ORDER BY id
FOR UPDATE
