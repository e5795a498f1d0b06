-- Extend an owner's leases. What is not returned is lost.
UPDATE holdfast_held
SET until_ms = :now_ms + lease_ms
FROM {leases l}
WHERE holdfast_held.id = l.job_id AND holdfast_held.attempt = l.attempt AND owner = :owner AND until_ms > :now_ms
RETURNING id, holdfast_held.attempt
