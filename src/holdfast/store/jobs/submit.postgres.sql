-- Create jobs and their first events from columns. An all-null column comes as null, a column of equals as one
-- value: unnest pads both, and what can never be null takes the first.
-- The clock asks for the transaction's id first: a feed reader relies on it being older than the event's position.
WITH clock AS MATERIALIZED (
    SELECT
        {now} AS now_ms,
        pg_current_xact_id() AS xid
),
spec AS MATERIALIZED (
    SELECT
        id,
        coalesce(lifecycle, (:lifecycle::text[])[1]) AS lifecycle,
        coalesce(task, (:task::text[])[1]) AS task,
        coalesce(queue, (:queue::text[])[1]) AS queue,
        coalesce(priority, (:priority::integer[])[1]) AS priority,
        coalesce(state, (:state::text[])[1]) AS state,
        coalesce(ready, (:ready::boolean[])[1]) AS ready,
        coalesce(max_tries, (:max_tries::integer[])[1]) AS max_tries,
        coalesce(lease_ms, (:lease_ms::integer[])[1]) AS lease_ms,
        coalesce(delay_ms, (:delay_ms::bigint[])[1]) AS delay_ms,
        coalesce(event_type, (:event_type::text[])[1]) AS event_type,
        coalesce(actor, (:actor::text[])[1]) AS actor,
        coalesce(turn, (:turn::integer[])[1]) AS turn,
        coalesce(gate, (:gate::text[])[1]) AS gate,
        due_at_ms, expire_after_ms, keep_until_ms, key_scope, key, correlation_id, trace_id, parent_id, tags,
        options, payload, reason, cause, event_payload, digest
    FROM unnest(
        :id::uuid[], :lifecycle::text[], :task::text[], :queue::text[], :priority::integer[], :state::text[],
        :ready::boolean[], :max_tries::integer[], :lease_ms::integer[], :delay_ms::bigint[], :due_at_ms::bigint[],
        :expire_after_ms::bigint[], :keep_until_ms::bigint[], :key_scope::text[], :key::text[],
        :correlation_id::text[], :trace_id::text[], :parent_id::uuid[], :tags::text[], :options::text[],
        :turn::integer[], :gate::text[], :payload::text[], :event_type::text[], :actor::text[], :reason::text[],
        :cause::text[], :event_payload::text[], :digest::bytea[]
    ) AS s (
        id, lifecycle, task, queue, priority, state, ready, max_tries, lease_ms, delay_ms, due_at_ms,
        expire_after_ms, keep_until_ms, key_scope, key, correlation_id, trace_id, parent_id, tags, options,
        turn, gate, payload, event_type, actor, reason, cause, event_payload, digest
    )
),
made AS (
    INSERT INTO holdfast_job ({new_job})
    SELECT
        id, lifecycle, task, queue, priority, state, turn, gate, max_tries, lease_ms, coalesce(due_at_ms, now_ms + delay_ms),
        now_ms, now_ms + expire_after_ms, keep_until_ms, key_scope, key, correlation_id, trace_id, parent_id, tags,
        options, payload, event_type, actor, reason, cause, event_payload, digest
    FROM clock, spec
    RETURNING id, pos, lifecycle, queue, state, turn, gate, due_at_ms, created_at_ms, expires_at_ms
),
waiting AS (
    INSERT INTO holdfast_rest (id, state, attempt, version, tries, losses, changed_at_ms, expires_at_ms, pos)
    SELECT made.id, made.state, 1, 1, 0, 0, made.created_at_ms, made.expires_at_ms, made.pos
    FROM made
    JOIN spec ON spec.id = made.id
    WHERE NOT spec.ready AND NOT :all_ready::boolean
)
INSERT INTO holdfast_ready (
    queue, lifecycle, state, turn, gate, due_at_ms, id, attempt, version, tries, losses, changed_at_ms, expires_at_ms, pos,
    moved
)
SELECT
    made.queue, made.lifecycle, made.state, made.turn, made.gate, made.due_at_ms, made.id, 1, 1, 0, 0, made.created_at_ms,
    made.expires_at_ms, made.pos, FALSE
FROM made
WHERE :all_ready::boolean OR made.id = ANY (ARRAY(SELECT id FROM spec WHERE ready))
