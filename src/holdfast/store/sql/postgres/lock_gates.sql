-- Gates as they stand, locked: who counts what runs behind a gate must be the only one. Others pass over it.
SELECT
    name, running, interval_us, burst, next_us,
    coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now_ms
FROM holdfast_gate
WHERE name = ANY (:names::text[])
ORDER BY name
FOR UPDATE SKIP LOCKED
