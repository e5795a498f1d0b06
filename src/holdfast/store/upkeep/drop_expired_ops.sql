-- Remove ops whose time is over, no more than the limit at once.
DELETE FROM holdfast_op
WHERE op_id {in SELECT op_id FROM holdfast_op WHERE expires_at_ms <= :now_ms ORDER BY expires_at_ms LIMIT :limit::bigint}
RETURNING op_id
