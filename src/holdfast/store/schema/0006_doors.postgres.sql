-- Keys to the HTTP API. Only a digest of the secret is kept.
CREATE TABLE holdfast_api_key (
    id text NOT NULL PRIMARY KEY,
    name text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    scope text NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint,
    revoked_at_ms bigint,
    last_used_at_ms bigint
);
