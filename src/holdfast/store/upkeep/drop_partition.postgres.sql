-- Drop one partition of the log, if it is empty.
SELECT holdfast_drop_partition(:name)
