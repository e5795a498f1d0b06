-- Open dead letters that failed alike: how many, since when, until when, and the newest as an example. Of the newest
-- :reach letters only: what has been lying there for long must not make today's slow.
SELECT fingerprint, count(*) AS letters, min(at_ms), max(at_ms), max(job_id::text)
FROM (
    SELECT fingerprint, at_ms, job_id, resolution FROM holdfast_dead
    ORDER BY at_ms DESC, job_id DESC
    LIMIT :reach
) AS newest
WHERE resolution IS NULL
GROUP BY fingerprint
ORDER BY letters DESC, fingerprint
LIMIT :limit
