-- The edges into and out of nodes that are removed.
DELETE FROM holdfast_edge WHERE parent_id IN (SELECT value FROM json_each(:ids)) OR child_id IN (SELECT value FROM json_each(:ids))
