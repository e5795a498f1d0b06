-- The newest jobs of one state, as many as the cap says, by lifecycle.
SELECT lifecycle, count(*)
FROM (
    SELECT lifecycle FROM holdfast_job WHERE {range} ORDER BY {order} LIMIT :cap
) AS newest
GROUP BY lifecycle
