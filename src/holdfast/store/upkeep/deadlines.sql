-- Jobs whose deadline has passed, no more than the limit at once, and how far it says that they move up.
SELECT job_id, at_ms, turn
FROM holdfast_deadline
WHERE at_ms <= :now_ms
ORDER BY at_ms
LIMIT :limit::bigint
{lock skip locked}
