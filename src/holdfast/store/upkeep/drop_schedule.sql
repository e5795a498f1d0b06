-- Forget a schedule; its jobs stay.
DELETE FROM holdfast_schedule WHERE name = :name RETURNING name
