-- Ask the owners of leased jobs to stop. A hard request is not softened by a later one.
UPDATE holdfast_held
SET asked = CASE WHEN asked = 'hard' THEN 'hard' ELSE :mode END
FROM {leases l}
WHERE holdfast_held.id = l.job_id AND holdfast_held.attempt = l.attempt
RETURNING id
