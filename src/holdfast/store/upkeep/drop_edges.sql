-- The edges into and out of nodes that are removed.
DELETE FROM holdfast_edge WHERE parent_id {in :ids::uuid[]} OR child_id {in :ids::uuid[]}
