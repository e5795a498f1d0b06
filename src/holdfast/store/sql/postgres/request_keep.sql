-- Keep a request's answer; no row when it has one that still counts. Waits for a rival that is about to commit.
INSERT INTO holdfast_op (op_id, answer, expires_at_ms)
VALUES (
    :op_id,
    :answer,
    coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) + :ttl_ms::bigint
)
ON CONFLICT (op_id) DO UPDATE SET answer = excluded.answer, expires_at_ms = excluded.expires_at_ms
WHERE holdfast_op.expires_at_ms <= coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
RETURNING op_id
