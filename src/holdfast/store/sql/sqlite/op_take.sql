-- Take an op_id; no row when it was taken before.
INSERT INTO holdfast_op (op_id, expires_at_ms)
VALUES (:op_id, :now_ms + :ttl_ms)
ON CONFLICT (op_id) DO NOTHING
RETURNING op_id
