-- A flow as it stands.
SELECT id, on_failure, nodes, open, failed, cancelled FROM holdfast_flow WHERE id = :id
