-- Create a job; run for many rows at once.
INSERT INTO holdfast_job (
    id, pos, payload, digest, lifecycle, task, queue, priority, state, turn, gate, max_tries, lease_ms, due_at_ms,
    created_at_ms, expires_at_ms, keep_until_ms, key_scope, key, correlation_id, trace_id, parent_id, tags, options,
    event_type, actor, reason, cause, event_payload
)
VALUES (
    :id, :pos, :payload, :digest, :lifecycle, :task, :queue, :priority, :state, :turn, :gate, :max_tries, :lease_ms,
    :due_at_ms, :created_at_ms, :expires_at_ms, :keep_until_ms, :key_scope, :key, :correlation_id, :trace_id, :parent_id,
    :tags, :options, :event_type, :actor, :reason, :cause, :event_payload
)
