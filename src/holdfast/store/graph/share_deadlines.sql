-- The jobs that take a node's place have its deadlines.
INSERT INTO holdfast_deadline (job_id, at_ms, turn)
SELECT i.value, d.at_ms, d.turn
FROM holdfast_deadline AS d
CROSS JOIN {each i :items::uuid[]}
WHERE d.job_id = :job_id
