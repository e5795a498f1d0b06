-- Revoke a key; one that was revoked before stays so since it was.
UPDATE holdfast_api_key
SET revoked_at_ms = coalesce(revoked_at_ms, :now_ms)
WHERE id = :id
RETURNING {api_key}
