-- Create one job and its first event: what `submit` does for many, without taking columns apart.
-- The clock asks for the transaction's id first: a feed reader relies on it being older than the event's position.
WITH clock AS MATERIALIZED (
    SELECT
        {now} AS now_ms,
        pg_current_xact_id() AS xid
),
made AS (
    INSERT INTO holdfast_job ({new_job})
    SELECT
        :id, :lifecycle, :task, :queue, :priority::integer, :state, :turn::integer, :gate, :max_tries::integer,
        :lease_ms::integer, coalesce(:due_at_ms::bigint, now_ms + :delay_ms::bigint), now_ms,
        now_ms + :expire_after_ms::bigint, :keep_until_ms::bigint, :key_scope, :key, :correlation_id, :trace_id,
        :parent_id, :tags, :options, :payload, :event_type, :actor, :reason, :cause, :event_payload, :digest::bytea
    FROM clock
    RETURNING id, pos, lifecycle, queue, state, turn, gate, due_at_ms, created_at_ms, expires_at_ms
),
waiting AS (
    INSERT INTO holdfast_rest (id, state, attempt, version, tries, losses, changed_at_ms, expires_at_ms, pos)
    SELECT id, state, 1, 1, 0, 0, created_at_ms, expires_at_ms, pos FROM made WHERE NOT :ready::boolean
)
INSERT INTO holdfast_ready (
    queue, lifecycle, state, turn, gate, due_at_ms, id, attempt, version, tries, losses, changed_at_ms, expires_at_ms, pos,
    moved
)
SELECT
    queue, lifecycle, state, turn, gate, due_at_ms, id, 1, 1, 0, 0, created_at_ms, expires_at_ms, pos, FALSE
FROM made
WHERE :ready::boolean
