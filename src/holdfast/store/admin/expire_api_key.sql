-- Let a key end at a time; one that ends sooner still does.
UPDATE holdfast_api_key
SET expires_at_ms = CASE WHEN expires_at_ms < :at_ms THEN expires_at_ms ELSE :at_ms END
WHERE id = :id
RETURNING {api_key}
