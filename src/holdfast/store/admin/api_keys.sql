-- All keys, the newest first.
SELECT {api_key}
FROM holdfast_api_key
ORDER BY created_at_ms DESC, id
