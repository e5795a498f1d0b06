-- One schedule.
SELECT name, task, args, cron, timezone, missed, paused, last_tick_ms, next_tick_ms, spec
FROM holdfast_schedule
WHERE name = :name
