-- How many jobs of each queue somebody holds.
SELECT queue, count(*) FROM holdfast_member GROUP BY queue
