-- Where jobs stand.
SELECT {job}, token, at, size, moved_to_ms, turn
FROM holdfast_jobs
WHERE id {in :ids::uuid[]}
