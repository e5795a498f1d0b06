-- Events behind a position, with the snapshot that they were read in and the highest position that it shows.
SELECT
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xmin,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xmax,
    (SELECT max(pos) FROM holdfast_event) AS high,
    e.*, j.correlation_id, j.trace_id
FROM (
    SELECT
        pos, job_id, seq, type, from_state, to_state, at_ms, actor, attempt, reason, cause, payload, payload_digest,
        digest, schema_version
    FROM holdfast_event
    WHERE pos > :after
    ORDER BY pos
    LIMIT :limit::bigint
) AS e
LEFT JOIN holdfast_job AS j ON j.id = e.job_id
ORDER BY e.pos
