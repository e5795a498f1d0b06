-- A key that is neither revoked nor expired, at this very moment.
SELECT id, name, hash, scope, created_at_ms, expires_at_ms, revoked_at_ms, last_used_at_ms
FROM holdfast_api_key
WHERE id = :id AND revoked_at_ms IS NULL
    AND (
        expires_at_ms IS NULL
        OR expires_at_ms > coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
    )
