-- Put down that a node's branch left another out; run for many rows at once.
UPDATE holdfast_edge
SET cut = TRUE
WHERE parent_id = :parent_id
    AND child_id IN (
        SELECT n.job_id FROM holdfast_edge AS e
        JOIN holdfast_node AS n ON n.job_id = e.child_id
        WHERE e.parent_id = :parent_id AND n.name = :name
    )
