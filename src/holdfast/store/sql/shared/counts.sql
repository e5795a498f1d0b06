-- How many jobs of one lifecycle are in one state, counted no further than the cap.
SELECT count(*) FROM (
    SELECT 1 FROM holdfast_job WHERE state = :state AND lifecycle = :lifecycle LIMIT :cap
) AS capped
