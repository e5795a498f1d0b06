-- The first events of jobs, as their rows say them.
SELECT
    pos, id, 1, event_type, NULL, state, created_at_ms, actor, 1, reason, cause, event_payload, event_payload_digest,
    digest, 1
FROM holdfast_job
WHERE id {in :ids::uuid[]}
