-- The keys of jobs that were submitted under one.
SELECT id, key_scope, key FROM holdfast_job WHERE id {in :ids::uuid[]} AND key_scope IS NOT NULL
