-- The jobs that take a node's place are as urgent as it is.
UPDATE holdfast_job AS j
SET turn = least(j.turn, n.turn)
FROM holdfast_job AS n
WHERE j.id = ANY (:items::uuid[]) AND n.id = :job_id AND j.turn > n.turn
