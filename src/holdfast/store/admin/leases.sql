-- Jobs that somebody holds, the lease that ends first at the head.
SELECT {job}
FROM holdfast_jobs
WHERE id {in SELECT id FROM holdfast_member ORDER BY until_ms, id LIMIT :limit}
ORDER BY lease_until_ms, id
