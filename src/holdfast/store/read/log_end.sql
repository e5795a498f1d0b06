-- How far the log reaches behind a position, and how many events that is: as many as positions, or some are missing.
SELECT coalesce(max(pos), :after) AS high, count(*) AS count FROM holdfast_event WHERE pos > :after
