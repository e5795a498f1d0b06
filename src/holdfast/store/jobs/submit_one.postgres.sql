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
        :id, :lifecycle, :task, :queue, :priority::integer, :state, 1, 1, 0, :max_tries::integer, 0, :ready::boolean,
        coalesce(:due_at_ms::bigint, now_ms + :delay_ms::bigint), :lease_ms::integer, now_ms, now_ms,
        now_ms + :expire_after_ms::bigint, :keep_until_ms::bigint, :key_scope, :key, :correlation_id, :trace_id,
        :parent_id, :tags, :options, :payload, :turn::integer, :gate
    FROM clock
)
INSERT INTO holdfast_event (job_id, seq, type, to_state, at_ms, actor, attempt, reason, cause, payload, digest)
SELECT :id, 1, :event_type, :state, now_ms, :actor, 1, :reason, :cause, :event_payload, :digest::bytea
FROM clock
