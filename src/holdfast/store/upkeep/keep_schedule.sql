-- Declare a schedule. One that is known goes on where it stands, unless it now ticks at other times.
INSERT INTO holdfast_schedule AS known ({schedule}) VALUES ({values schedule})
ON CONFLICT (name) DO UPDATE
SET task = excluded.task,
    args = excluded.args,
    cron = excluded.cron,
    timezone = excluded.timezone,
    missed = excluded.missed,
    spec = excluded.spec,
    last_tick_ms = CASE
        WHEN known.cron = excluded.cron AND known.timezone = excluded.timezone THEN known.last_tick_ms
        ELSE excluded.last_tick_ms
    END,
    next_tick_ms = CASE
        WHEN known.cron = excluded.cron AND known.timezone = excluded.timezone THEN known.next_tick_ms
        ELSE excluded.next_tick_ms
    END
RETURNING name
