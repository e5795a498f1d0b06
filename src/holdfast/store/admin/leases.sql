-- Jobs that somebody holds, the lease that ends first at the head.
SELECT {job}
FROM holdfast_job
WHERE lease_until_ms IS NOT NULL
ORDER BY lease_until_ms, id
LIMIT :limit
