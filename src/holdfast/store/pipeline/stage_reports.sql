-- The stages of some jobs, and how those that are over ended; without what they produced, which may be large.
SELECT
    job_id, name, attempt, at_ms,
    CASE WHEN name = 'stages' THEN result ELSE {without output result} END
FROM holdfast_step
WHERE job_id {in :ids::uuid[]} AND (name = 'stages' OR substr(name, 1, 6) = 'stage:')
ORDER BY job_id, number
