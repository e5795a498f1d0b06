-- The next lane behind this one that has a job to claim: lanes are few, and each step skips a whole one.
SELECT queue, lifecycle, state, priority
FROM holdfast_job
WHERE ready AND (queue, lifecycle, state, priority) > (:queue, :lifecycle, :state, :priority)
ORDER BY queue, lifecycle, state, priority
LIMIT 1
