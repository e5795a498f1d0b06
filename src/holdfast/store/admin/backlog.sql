-- How many due jobs wait in a queue, counted no further than the cap.
SELECT count(*) FROM (
    SELECT 1 FROM holdfast_ready WHERE queue = :queue AND due_at_ms <= :now_ms LIMIT :cap
) AS waiting
