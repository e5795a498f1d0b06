-- A put is no longer under way. No row when the sweep has taken it for broken off.
DELETE FROM holdfast_put WHERE id = :put_id RETURNING id
