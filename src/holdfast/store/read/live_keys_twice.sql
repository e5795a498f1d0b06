-- Live jobs that share a key.
WITH live AS (
    SELECT key_scope, key, id
    FROM holdfast_job AS j
    WHERE key_scope IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM holdfast_rest AS r WHERE r.id = j.id AND r.finished_at_ms IS NOT NULL)
)
SELECT live.key_scope, live.key, live.id
FROM live
INNER JOIN (
    SELECT key_scope, key FROM live GROUP BY key_scope, key HAVING count(*) > 1
) AS twice ON twice.key_scope = live.key_scope AND twice.key = live.key
ORDER BY live.key_scope, live.key, live.id
