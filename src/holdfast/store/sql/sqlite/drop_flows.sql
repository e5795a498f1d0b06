-- The counts of flows that are removed.
DELETE FROM holdfast_flow WHERE id IN (SELECT value FROM json_each(:ids))
