-- Keep a new key; its secret itself is nowhere.
INSERT INTO holdfast_api_key (id, name, hash, scope, created_at_ms, expires_at_ms)
VALUES (:id, :name, :hash, :scope, :created_at_ms, :expires_at_ms)
RETURNING id
