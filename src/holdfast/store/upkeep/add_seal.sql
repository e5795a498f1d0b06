-- Add the next seal; no row when another sealer was first.
INSERT INTO holdfast_seal ({seal}) VALUES ({values seal})
ON CONFLICT DO NOTHING
RETURNING number
