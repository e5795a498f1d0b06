-- Live jobs that share a key.
SELECT j.key_scope, j.key, j.id
FROM holdfast_job AS j
INNER JOIN (
    SELECT key_scope, key
    FROM holdfast_job
    WHERE key_scope IS NOT NULL AND finished_at_ms IS NULL
    GROUP BY key_scope, key
    HAVING count(*) > 1
) AS twice ON twice.key_scope = j.key_scope AND twice.key = j.key
WHERE j.finished_at_ms IS NULL
ORDER BY j.key_scope, j.key, j.id
