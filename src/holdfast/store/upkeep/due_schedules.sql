-- Schedules with a tick that has come, longest due first.
SELECT {schedule}
FROM holdfast_schedule
WHERE next_tick_ms <= :now_ms AND NOT paused
ORDER BY next_tick_ms
LIMIT :limit
