-- Take an op_id; no row when it was taken before, and that still counts. Waits for a rival that is still at it.
INSERT INTO holdfast_op (op_id, expires_at_ms)
VALUES (:op_id, {now} + :ttl_ms::bigint)
ON CONFLICT (op_id) DO UPDATE SET answer = NULL, expires_at_ms = excluded.expires_at_ms
WHERE holdfast_op.expires_at_ms <= {now}
RETURNING op_id
