-- Puts that went no further since a time are over; their chunks are removed with them.
DELETE FROM holdfast_put WHERE at_ms < :before_ms RETURNING id
