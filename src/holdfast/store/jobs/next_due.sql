-- In how many milliseconds the first job of a lane is due.
SELECT due_at_ms - {now}
FROM holdfast_ready
WHERE queue = :queue AND lifecycle = :lifecycle AND state = :state AND turn = :turn AND gate = :gate
ORDER BY due_at_ms, id
LIMIT 1
