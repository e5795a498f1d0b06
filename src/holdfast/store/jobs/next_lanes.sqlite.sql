-- The next lane behind this one that has a job to claim: lanes are few, and each step skips a whole one.
SELECT queue, lifecycle, state, turn, gate, TRUE AS more
FROM holdfast_ready
WHERE (queue, lifecycle, state, turn, gate) > (:queue, :lifecycle, :state, :turn, :gate)
ORDER BY queue, lifecycle, state, turn, gate
LIMIT 1
