-- Hold a schedule; nothing is made up later for the ticks that pass meanwhile.
UPDATE holdfast_schedule SET paused = :paused WHERE name = :name RETURNING name
