-- A flow; the writer is alone, so that nothing needs to be locked.
SELECT id FROM holdfast_flow WHERE id = :id
