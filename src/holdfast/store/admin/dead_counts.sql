-- How many dead letters are open, and how many are resolved.
SELECT count(*) - count(resolution), count(resolution) FROM holdfast_dead
