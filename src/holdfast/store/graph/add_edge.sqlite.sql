-- Let a node wait for another; run for many rows at once.
INSERT INTO holdfast_edge (parent_id, child_id, cut) VALUES (:parent_id, :child_id, FALSE)
