-- The put whose chunks a blob is: this one, unless its bytes are there already. Those are young again then.
INSERT INTO holdfast_blob (digest, put_id, size, at_ms) VALUES (:digest, :put_id, :size, {now})
ON CONFLICT (digest) DO UPDATE SET at_ms = excluded.at_ms
RETURNING put_id
