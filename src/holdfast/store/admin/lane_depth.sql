-- The backlog of one lane, of all gates when it has some: all of it, what of it is due, and since when; counted no
-- further than the cap.
SELECT
    (
        SELECT count(*) FROM (
            SELECT 1 FROM holdfast_ready
            WHERE queue = :queue AND lifecycle = :lifecycle AND state = :state AND turn = :turn
                AND gate >= :gate AND gate <= :last_gate
            LIMIT :cap
        ) AS queued
    ),
    (
        SELECT count(*) FROM (
            SELECT 1 FROM holdfast_ready
            WHERE queue = :queue AND lifecycle = :lifecycle AND state = :state AND turn = :turn
                AND gate >= :gate AND gate <= :last_gate AND due_at_ms <= :now_ms
            LIMIT :cap
        ) AS due
    ),
    (
        SELECT min(due_at_ms) FROM (
            SELECT due_at_ms FROM holdfast_ready
            WHERE queue = :queue AND lifecycle = :lifecycle AND state = :state AND turn = :turn
                AND gate >= :gate AND gate <= :last_gate
            ORDER BY gate, due_at_ms, id
            LIMIT :heads
        ) AS heads
    )
