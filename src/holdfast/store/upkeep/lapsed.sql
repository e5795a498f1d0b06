-- Whether a lease has run out and nobody has taken its job yet.
SELECT 1 FROM holdfast_job WHERE lease_until_ms IS NOT NULL AND lease_until_ms <= :now_ms LIMIT 1
