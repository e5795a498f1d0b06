-- Make one weekly partition of the log, if it can be had now.
SELECT holdfast_add_partition(:name, :low_ms, :high_ms)
