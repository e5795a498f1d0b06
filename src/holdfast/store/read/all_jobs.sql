-- Jobs by id behind one, for the audit.
SELECT {job}
FROM holdfast_jobs
WHERE id > :after
ORDER BY id
LIMIT :limit
