-- The counts of flows that are removed.
DELETE FROM holdfast_flow WHERE id = ANY (:ids::uuid[])
