-- Remove blobs, but for those that were put again meanwhile.
DELETE FROM holdfast_blob WHERE digest {in :digests::text[]} AND at_ms < :before_ms RETURNING put_id
