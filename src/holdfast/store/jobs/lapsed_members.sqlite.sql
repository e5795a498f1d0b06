-- Jobs whose lease ran out and whose lifecycle goes on where it stands, as far as they have not crashed too often.
SELECT id, attempt
FROM holdfast_held
WHERE until_ms <= :now_ms AND lifecycle = :lifecycle AND state = :source
    AND queue IN (SELECT value FROM json_each(:queues))
    AND losses + 1 < :crash_budget
ORDER BY until_ms
LIMIT :limit
