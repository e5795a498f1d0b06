-- How many due jobs of a queue are claimed before one of its jobs, counted no further than the cap.
SELECT count(*) FROM (
    SELECT 1 FROM holdfast_job
    WHERE ready AND queue = :queue AND due_at_ms <= :now_ms
        AND (priority > :priority OR (priority = :priority AND (due_at_ms, id) < (:due_at_ms, :id)))
    LIMIT :cap
) AS ahead
