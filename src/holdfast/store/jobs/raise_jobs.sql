-- From now on these jobs stand no lower than at a turn, wherever they wait.
UPDATE holdfast_job
SET turn = {least}(holdfast_job.turn, l.turn)
FROM {turns l}
WHERE holdfast_job.id = l.job_id
RETURNING id
