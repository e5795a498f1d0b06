-- The scopes that keys of jobs are in: each step skips all the keys of one.
WITH RECURSIVE scopes (scope) AS (
    SELECT (SELECT key_scope FROM holdfast_job WHERE key_scope IS NOT NULL ORDER BY key_scope LIMIT 1)
    UNION ALL
    SELECT (
        SELECT j.key_scope FROM holdfast_job AS j
        WHERE j.key_scope IS NOT NULL AND j.key_scope > scopes.scope
        ORDER BY j.key_scope
        LIMIT 1
    )
    FROM scopes
    WHERE scopes.scope IS NOT NULL
)
SELECT scope FROM scopes WHERE scope IS NOT NULL LIMIT :limit
