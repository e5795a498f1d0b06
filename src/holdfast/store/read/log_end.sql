-- How far the rows of the log reach behind a place, and how many they are: as many as there are places for, or some are
-- missing. What was moved here from elsewhere stands between the places of rows.
SELECT coalesce(max(high), :after) / 4096 * 4096, coalesce(sum(count), 0) FROM (
    SELECT max(pos) AS high, count(*) FILTER (WHERE pos % 4096 = 0) AS count FROM holdfast_log WHERE pos > :after
    UNION ALL
    SELECT max(pos), count(*) FILTER (WHERE pos % 4096 = 0) FROM holdfast_job WHERE pos > :after
) AS ends
