-- Rows of the log by their places.
SELECT {row} FROM holdfast_log WHERE pos {in :places::bigint[]}
