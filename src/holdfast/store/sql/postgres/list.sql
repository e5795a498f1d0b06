-- One stretch of an index, newest first. Which index and which further filters are fixed texts, never values. What is
-- filtered stands outside, behind a limit: no other index will do then, and the stretch has an end.
SELECT
    id, lifecycle, task, queue, priority, state, attempt, version, tries, max_tries, losses, ready, due_at_ms,
    lease_ms, lease_owner, lease_until_ms, created_at_ms, changed_at_ms, started_at_ms, finished_at_ms,
    expires_at_ms, keep_until_ms, cancel_requested, key_scope, key, correlation_id, trace_id, parent_id, tags,
    options, payload, payload_digest, outcome, outcome_digest
FROM (SELECT * FROM holdfast_job WHERE {range} ORDER BY {order} LIMIT :reach) AS stretch
WHERE id >= :low {where}
ORDER BY {order}
LIMIT :limit
