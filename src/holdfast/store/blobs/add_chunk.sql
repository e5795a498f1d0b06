-- The next stretch of a put: `size` bytes, compressed where there are fewer.
INSERT INTO holdfast_chunk (put_id, start, size, data) VALUES (:put_id, :start, :size, :data)
