-- The gates of a lane behind which a job waits, after one of them, each with the options of its first job: every
-- step skips a whole gate.
WITH RECURSIVE found (gate, n) AS (
    SELECT min(gate), 1 FROM holdfast_ready
    WHERE queue = :queue AND lifecycle = :lifecycle AND state = :state AND turn = :turn
        AND gate > :after
    UNION ALL
    SELECT
        (
            SELECT min(j.gate) FROM holdfast_ready AS j
            WHERE j.queue = :queue AND j.lifecycle = :lifecycle AND j.state = :state
                AND j.turn = :turn AND j.gate > found.gate
        ),
        found.n + 1
    FROM found
    WHERE found.gate IS NOT NULL AND found.n < :limit
)
SELECT
    found.gate,
    (
        SELECT job.options FROM holdfast_ready AS j JOIN holdfast_job AS job ON job.id = j.id
        WHERE j.queue = :queue AND j.lifecycle = :lifecycle AND j.state = :state AND j.turn = :turn
            AND j.gate = found.gate
        ORDER BY j.due_at_ms, j.id
        LIMIT 1
    )
FROM found
WHERE found.gate IS NOT NULL
ORDER BY found.gate
