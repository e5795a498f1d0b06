-- Keys to the HTTP API. Only a digest of the secret is kept.
CREATE TABLE holdfast_api_key (
    id text NOT NULL PRIMARY KEY,
    name text NOT NULL,
    hash blob NOT NULL UNIQUE,
    scope text NOT NULL,
    created_at_ms integer NOT NULL,
    expires_at_ms integer,
    revoked_at_ms integer,
    last_used_at_ms integer
) STRICT;
