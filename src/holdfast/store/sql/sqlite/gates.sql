-- Gates as they were last said to be, and when the next start behind each is due.
SELECT name, running, interval_us, burst, next_us
FROM holdfast_gate
WHERE name IN (SELECT value FROM json_each(:names))
