-- Add the next seal; no row when another sealer was first.
INSERT INTO holdfast_seal (
    number, first_pos, last_pos, count, root, previous, head, purges, sealed_at_ms, manifest
)
VALUES (
    :number, :first_pos, :last_pos, :count, :root, :previous, :head, :purges, :sealed_at_ms, :manifest
)
ON CONFLICT DO NOTHING
RETURNING number
