-- Keep a request's answer; no row when it has one that still counts. Waits for a rival that is about to commit.
INSERT INTO holdfast_op (op_id, answer, expires_at_ms)
VALUES (:op_id, :answer, {now} + :ttl_ms::bigint)
ON CONFLICT (op_id) DO UPDATE SET answer = excluded.answer, expires_at_ms = excluded.expires_at_ms
WHERE holdfast_op.expires_at_ms <= {now}
RETURNING op_id
