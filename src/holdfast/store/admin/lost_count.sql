-- How many leases have run out and were not taken back yet, counted no further than the cap.
SELECT count(*) FROM (
    SELECT 1 FROM holdfast_job WHERE lease_until_ms IS NOT NULL AND lease_until_ms <= :now_ms LIMIT :cap
) AS lost
