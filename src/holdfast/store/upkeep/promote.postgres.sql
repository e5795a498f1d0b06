-- Jobs whose deadline has passed move up as far as it says, no more than the limit at once; the deadline is spent.
-- In the order in which all writers take jobs: two of them cannot wait for each other.
WITH due AS MATERIALIZED (
    SELECT job_id, at_ms, turn FROM holdfast_deadline
    WHERE at_ms <= :now_ms
    ORDER BY at_ms
    LIMIT :limit::bigint
    FOR UPDATE SKIP LOCKED
),
spent AS (
    DELETE FROM holdfast_deadline AS d USING due WHERE d.job_id = due.job_id AND d.at_ms = due.at_ms
)
UPDATE holdfast_job AS j
SET turn = least(j.turn, due.turn)
FROM (SELECT job_id, min(turn) AS turn FROM due GROUP BY job_id ORDER BY job_id) AS due
WHERE j.id = due.job_id
RETURNING j.id
