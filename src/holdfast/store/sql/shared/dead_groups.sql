-- Open dead letters that failed alike: how many, since when, until when, and the newest as an example.
SELECT fingerprint, count(*) AS letters, min(at_ms), max(at_ms), max(CAST(job_id AS text))
FROM holdfast_dead
WHERE resolution IS NULL
GROUP BY fingerprint
ORDER BY letters DESC, fingerprint
LIMIT :limit
