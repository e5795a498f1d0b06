-- A flow that goes on: so many of its nodes are open again.
UPDATE holdfast_flow SET open = :open, cancelled = 0 WHERE id = :id
