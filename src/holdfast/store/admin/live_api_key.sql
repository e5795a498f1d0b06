-- A key that is neither revoked nor expired, at this very moment.
SELECT {api_key}
FROM holdfast_api_key
WHERE id = :id AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > {now})
