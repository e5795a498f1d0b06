-- The next due jobs of all turns up to one, the lowest first, as they are once they are claimed.
SELECT
    ready.id, :lifecycle, job.task, :queue, job.priority, :target, ready.attempt, ready.version + :steps,
    ready.tries + :tries, job.max_tries, ready.losses, 0, ready.due_at_ms, job.lease_ms, :owner, max(ready.changed_at_ms, :now_ms) + job.lease_ms,
    job.created_at_ms, max(ready.changed_at_ms, :now_ms), CASE WHEN :starts THEN max(ready.changed_at_ms, :now_ms) ELSE ready.started_at_ms END, NULL,
    -- A job that stands still for too long has a limit of its own, which begins anew with every change.
    CASE
        WHEN :stale_after_ms IS NULL THEN ready.expires_at_ms
        ELSE max(ready.changed_at_ms, :now_ms) + coalesce(ready.expires_at_ms - ready.changed_at_ms, :stale_after_ms)
    END,
    job.keep_until_ms, NULL, job.key_scope, job.key, job.correlation_id, job.trace_id, job.parent_id, job.tags,
    job.options, job.payload, job.payload_digest, ready.outcome, NULL,
    ready.pos, CASE WHEN ready.moved THEN ready.due_at_ms END, ready.turn
FROM holdfast_ready AS ready
CROSS JOIN holdfast_job AS job ON job.id = ready.id
WHERE ready.queue = :queue AND ready.lifecycle = :lifecycle AND ready.state = :source
    AND ready.turn <= :turn AND +ready.gate = :gate AND ready.due_at_ms <= :now_ms
ORDER BY ready.turn, ready.gate, ready.due_at_ms, ready.id
LIMIT :limit
