-- Take a schedule's ticks: only one scheduler finds it where it was.
UPDATE holdfast_schedule
SET last_tick_ms = :last_tick_ms, next_tick_ms = :next_tick_ms
WHERE name = :name AND next_tick_ms = :expected_ms AND cron = :cron AND timezone = :timezone AND NOT paused
RETURNING name
