-- The keys of jobs that were submitted under one.
SELECT id, key_scope, key
FROM holdfast_job
WHERE id IN (SELECT value FROM json_each(:ids)) AND key_scope IS NOT NULL
