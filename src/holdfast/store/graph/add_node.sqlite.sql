-- Put a node on record; run for many rows at once.
INSERT INTO holdfast_node ({node})
VALUES (:job_id, :flow_id, :name, :item, :join_kind, :need, :parents, :taken, :dead, :broken)
