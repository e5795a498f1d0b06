-- Remove a row of the log that has no jobs any more.
DELETE FROM holdfast_log WHERE pos = :pos
