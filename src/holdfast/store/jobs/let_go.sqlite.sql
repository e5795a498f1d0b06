-- End an owner's leases now, without a transition: whoever takes the jobs over need not wait. A lease that ran out
-- stays as it ended.
UPDATE holdfast_held
SET until_ms = :now_ms
FROM {leases l}
WHERE holdfast_held.id = l.job_id AND holdfast_held.attempt = l.attempt AND owner = :owner AND until_ms > :now_ms
RETURNING id
