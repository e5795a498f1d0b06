-- Take an op_id; no row when it was taken before. Waits for a rival that is still at it.
INSERT INTO holdfast_op (op_id, expires_at_ms)
VALUES (
    :op_id,
    coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) + :ttl_ms::bigint
)
ON CONFLICT (op_id) DO NOTHING
RETURNING op_id
