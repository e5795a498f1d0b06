-- In how many milliseconds the first job of a lane is due.
SELECT due_at_ms - coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
FROM holdfast_job
WHERE ready
    AND queue = :queue AND lifecycle = :lifecycle AND state = :state AND turn = :turn AND gate = :gate
ORDER BY due_at_ms, id
LIMIT 1
