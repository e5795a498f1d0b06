-- Schedules with a tick that has come, longest due first.
SELECT name, task, args, cron, timezone, missed, paused, last_tick_ms, next_tick_ms, spec
FROM holdfast_schedule
WHERE next_tick_ms <= :now_ms AND NOT paused
ORDER BY next_tick_ms
LIMIT :limit
