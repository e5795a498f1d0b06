-- Let nodes wait for others.
INSERT INTO holdfast_edge (parent_id, child_id, cut)
SELECT parent_id, child_id, FALSE
FROM unnest(:parent_id::uuid[], :child_id::uuid[]) AS e (parent_id, child_id)
