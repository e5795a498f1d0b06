-- The writer is alone: no flow is brought back meanwhile.
SELECT 1
