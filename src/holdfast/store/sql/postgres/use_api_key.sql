-- Note that a key was used.
UPDATE holdfast_api_key
SET last_used_at_ms = coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
WHERE id = :id
RETURNING id
