-- Keep a request's answer; no row when it has one that still counts.
INSERT INTO holdfast_op (op_id, answer, expires_at_ms)
VALUES (:op_id, :answer, :now_ms + :ttl_ms)
ON CONFLICT (op_id) DO UPDATE SET answer = excluded.answer, expires_at_ms = excluded.expires_at_ms
WHERE holdfast_op.expires_at_ms <= :now_ms
RETURNING op_id
