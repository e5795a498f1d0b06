-- Events by (job, seq) behind one, for the audit.
SELECT
    pos, job_id, seq, type, from_state, to_state, at_ms, actor, attempt, reason, cause, payload, payload_digest,
    digest, schema_version
FROM holdfast_event
WHERE (job_id, seq) > (:job_id, :seq)
ORDER BY job_id, seq
LIMIT :limit
