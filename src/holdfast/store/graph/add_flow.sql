-- Put a flow on record with all its nodes open.
INSERT INTO holdfast_flow ({flow})
VALUES (:id, :on_failure, :nodes, :nodes, 0, 0)
