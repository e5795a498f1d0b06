-- Events behind a position, with the oldest transaction that was under way when they were read.
SELECT
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xmin,
    e.*, j.correlation_id, j.trace_id
FROM (
    SELECT
        {event}
    FROM holdfast_event
    WHERE pos > :after
    ORDER BY pos
    LIMIT :limit::bigint
) AS e
LEFT JOIN holdfast_job AS j ON j.id = e.job_id
ORDER BY e.pos
