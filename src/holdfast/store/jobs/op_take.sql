-- Take an op_id; no row when it was taken before. Waits for a rival that is still at it.
INSERT INTO holdfast_op (op_id, expires_at_ms)
VALUES (:op_id, {now} + :ttl_ms::bigint)
ON CONFLICT (op_id) DO NOTHING
RETURNING op_id
