-- The backlog of one lane: all of it, what of it is due, and since when; counted no further than the cap.
SELECT
    (
        SELECT count(*) FROM (
            SELECT 1 FROM holdfast_job
            WHERE ready AND queue = :queue AND lifecycle = :lifecycle AND state = :state AND priority = :priority
            LIMIT :cap
        ) AS queued
    ),
    (
        SELECT count(*) FROM (
            SELECT 1 FROM holdfast_job
            WHERE ready AND queue = :queue AND lifecycle = :lifecycle AND state = :state AND priority = :priority
                AND due_at_ms <= :now_ms
            LIMIT :cap
        ) AS due
    ),
    (
        SELECT due_at_ms FROM holdfast_job
        WHERE ready AND queue = :queue AND lifecycle = :lifecycle AND state = :state AND priority = :priority
        ORDER BY due_at_ms, id
        LIMIT 1
    )
