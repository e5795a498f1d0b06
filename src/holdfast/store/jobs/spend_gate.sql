-- Put down when the next start behind a gate is due; run for many rows at once.
UPDATE holdfast_gate SET next_us = :next_us WHERE name = :name
