-- Keep one signal until its time to live is over; run for many rows at once.
INSERT INTO holdfast_signal (job_id, attempt, type, actor, payload, at_ms, expires_at_ms)
SELECT
    :job_id::uuid, :attempt::integer, :type::text, :actor::text, :payload::text, clock.now_ms,
    clock.now_ms + :ttl_ms::bigint
FROM (
    SELECT {now} AS now_ms
) AS clock
