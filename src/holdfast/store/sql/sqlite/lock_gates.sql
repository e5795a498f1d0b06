-- Gates as they stand; the writer is alone, so that nothing needs to be locked.
SELECT name, running, interval_us, burst, next_us, :now_ms AS now_ms
FROM holdfast_gate
WHERE name IN (SELECT value FROM json_each(:names))
ORDER BY name
