-- How many due jobs wait in a queue, counted no further than the cap.
SELECT count(*) FROM (
    SELECT 1 FROM holdfast_job WHERE ready AND queue = :queue AND due_at_ms <= :now_ms LIMIT :cap
) AS waiting
