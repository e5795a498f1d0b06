-- The jobs that take a node's place are as urgent as it is.
UPDATE holdfast_job
SET turn = {least}(holdfast_job.turn, n.turn)
FROM (SELECT turn FROM holdfast_job WHERE id = :job_id) AS n
WHERE id {in :items::uuid[]} AND holdfast_job.turn > n.turn
