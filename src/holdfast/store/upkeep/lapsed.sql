-- Whether a lease has run out and nobody has taken its jobs yet.
SELECT 1 FROM {leases_of} WHERE until_ms <= :now_ms LIMIT 1
