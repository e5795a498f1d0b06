-- All keys, the newest first.
SELECT id, name, hash, scope, created_at_ms, expires_at_ms, revoked_at_ms, last_used_at_ms
FROM holdfast_api_key
ORDER BY created_at_ms DESC, id
