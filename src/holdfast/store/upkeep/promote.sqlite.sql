-- Jobs whose deadline has passed move up as far as it says, no more than the limit at once.
UPDATE holdfast_job
SET turn = min(holdfast_job.turn, due.turn)
FROM (
    SELECT job_id, min(turn) AS turn
    FROM (SELECT job_id, turn FROM holdfast_deadline WHERE at_ms <= :now_ms ORDER BY at_ms LIMIT :limit)
    GROUP BY job_id
) AS due
WHERE holdfast_job.id = due.job_id
RETURNING id
