-- Revoke a key; one that was revoked before stays so since it was.
UPDATE holdfast_api_key
SET revoked_at_ms = coalesce(revoked_at_ms, :now_ms)
WHERE id = :id
RETURNING id, name, hash, scope, created_at_ms, expires_at_ms, revoked_at_ms, last_used_at_ms
