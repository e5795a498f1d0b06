-- Remove signals whose time is over, no more than the limit at once.
DELETE FROM holdfast_signal
WHERE id {in SELECT id FROM holdfast_signal WHERE expires_at_ms <= :now_ms ORDER BY expires_at_ms LIMIT :limit::bigint}
RETURNING id
