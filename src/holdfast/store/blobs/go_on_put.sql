-- A put goes on. No row when the sweep has taken it for broken off.
UPDATE holdfast_put SET at_ms = {now} WHERE id = :put_id RETURNING id
