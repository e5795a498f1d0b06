-- Let a held schedule go on from now.
UPDATE holdfast_schedule
SET paused = :paused, last_tick_ms = :last_tick_ms, next_tick_ms = :next_tick_ms
WHERE name = :name
RETURNING name
