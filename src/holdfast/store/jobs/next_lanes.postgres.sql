-- The next lanes behind this one that have a job to claim: lanes are few, and each step skips a whole one. All gates of
-- a lane are one step. A hundred at a time: who has got fewer has all, and need not ask again.
WITH RECURSIVE lane AS (
    (
        SELECT queue, lifecycle, state, turn, gate, 1 AS number
        FROM holdfast_ready
        WHERE (queue, lifecycle, state, turn, gate) > (:queue, :lifecycle, :state, :turn, :gate)
        ORDER BY queue, lifecycle, state, turn, gate
        LIMIT 1
    )
    UNION ALL
    SELECT next.queue, next.lifecycle, next.state, next.turn, next.gate, lane.number + 1
    FROM lane
    CROSS JOIN LATERAL (
        SELECT job.queue, job.lifecycle, job.state, job.turn, job.gate
        FROM holdfast_ready AS job
        WHERE (job.queue, job.lifecycle, job.state, job.turn, job.gate)
            > (lane.queue, lane.lifecycle, lane.state, lane.turn, CASE WHEN lane.gate = '' THEN '' ELSE :last_gate END)
        ORDER BY job.queue, job.lifecycle, job.state, job.turn, job.gate
        LIMIT 1
    ) AS next
    WHERE lane.number < 100
)
SELECT queue, lifecycle, state, turn, gate, number = 100 AS more FROM lane
