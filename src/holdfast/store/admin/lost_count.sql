-- How many leases have run out and were not taken back yet, counted no further than the cap.
SELECT count(*) FROM (
    SELECT 1 FROM holdfast_member WHERE until_ms <= :now_ms LIMIT :cap
) AS lost
