-- Put a flow on record with all its nodes open.
INSERT INTO holdfast_flow (id, on_failure, nodes, open, failed, cancelled)
VALUES (:id, :on_failure, :nodes, :nodes, 0, 0)
