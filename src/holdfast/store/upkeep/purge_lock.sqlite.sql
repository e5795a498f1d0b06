-- One purge at a time: the writer is alone anyway.
SELECT 1
