-- Blobs that nobody has put for a while, by digest.
SELECT digest FROM holdfast_blob WHERE digest > :after AND at_ms < :before_ms ORDER BY digest LIMIT :limit::bigint
