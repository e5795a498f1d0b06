-- The last row's place.
SELECT coalesce(max(pos), 0) FROM (
    SELECT max(pos) AS pos FROM holdfast_log UNION ALL SELECT max(pos) FROM holdfast_job
) AS ends
