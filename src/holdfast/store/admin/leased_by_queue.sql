-- How many jobs of each queue somebody holds.
SELECT queue, count(*) FROM holdfast_job WHERE lease_until_ms IS NOT NULL GROUP BY queue
