-- Make a gate known, or let what its newest jobs say of it hold from now on; run for many rows at once.
INSERT INTO holdfast_gate ({gate}) VALUES (:name, :running, :interval_us, :burst, 0)
ON CONFLICT (name) DO UPDATE
SET running = excluded.running, interval_us = excluded.interval_us, burst = excluded.burst
