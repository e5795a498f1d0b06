-- Lock a flow before anything of it is written.
SELECT id FROM holdfast_flow WHERE id = :id {lock}
