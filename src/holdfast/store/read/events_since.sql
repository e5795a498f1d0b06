-- How many events of one type there were since a time, counted no further than the cap.
SELECT count(*) FROM (
    SELECT 1 FROM holdfast_event WHERE type = :type AND at_ms >= :since_ms LIMIT :cap
) AS capped
