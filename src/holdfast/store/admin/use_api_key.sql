-- Note that a key was used.
UPDATE holdfast_api_key SET last_used_at_ms = {now} WHERE id = :id RETURNING id
