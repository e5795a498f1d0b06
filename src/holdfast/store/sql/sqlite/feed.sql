-- Events behind a position. The writer is alone: nothing commits late.
SELECT
    0 AS xmin,
    e.pos, e.job_id, e.seq, e.type, e.from_state, e.to_state, e.at_ms, e.actor, e.attempt, e.reason, e.cause, e.payload,
    e.payload_digest, e.digest, e.schema_version, j.correlation_id, j.trace_id
FROM holdfast_event AS e
LEFT JOIN holdfast_job AS j ON j.id = e.job_id
WHERE e.pos > :after
ORDER BY e.pos
LIMIT :limit
