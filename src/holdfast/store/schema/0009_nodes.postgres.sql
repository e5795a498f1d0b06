-- A node's row is counted up as its parents end: with room beside it, no index has to follow.
ALTER TABLE holdfast_node SET (fillfactor = 60);
