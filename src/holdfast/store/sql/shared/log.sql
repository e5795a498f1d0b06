-- Events by position behind one.
SELECT
    pos, job_id, seq, type, from_state, to_state, at_ms, actor, attempt, reason, cause, payload, payload_digest,
    digest, schema_version
FROM holdfast_event
WHERE pos > :after
ORDER BY pos
LIMIT :limit
