-- Which paths were taken since a time, and by how many jobs; and which first events there were. No further than so many
-- rows: the newest jobs tell of the first events, which have no index by time.
SELECT path, sum(jobs) FROM (
    SELECT path, {size ids} AS jobs FROM holdfast_log WHERE at_ms >= :since_ms LIMIT :most
) AS lately
GROUP BY path
UNION ALL
SELECT '[[' || {quoted event_type} || ',null,"",0]]', count(*) FROM (
    SELECT event_type, created_at_ms FROM holdfast_job ORDER BY pos DESC LIMIT :most
) AS newest
WHERE created_at_ms >= :since_ms
GROUP BY event_type
