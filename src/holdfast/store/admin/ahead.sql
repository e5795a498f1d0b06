-- How many due jobs of a queue are claimed before one of its jobs, counted no further than the cap.
SELECT count(*) FROM (
    SELECT 1 FROM holdfast_ready AS j, (SELECT turn, due_at_ms, id FROM holdfast_jobs WHERE id = :id) AS own
    WHERE j.queue = :queue AND j.due_at_ms <= :now_ms
        AND (
            j.turn < own.turn
            OR (j.turn = own.turn AND (j.due_at_ms, j.id) < (own.due_at_ms, own.id))
        )
    LIMIT :cap
) AS ahead
