-- How many jobs can be claimed, counted no further than the cap.
SELECT count(*) FROM (SELECT 1 FROM holdfast_ready LIMIT :cap) AS waiting
