-- A flow as it stands.
SELECT {flow} FROM holdfast_flow WHERE id = :id
