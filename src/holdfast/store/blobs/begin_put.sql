-- A put of more than one chunk is under way.
INSERT INTO holdfast_put (id, at_ms) VALUES (:put_id, {now}) RETURNING id
