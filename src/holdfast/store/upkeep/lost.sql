-- Jobs whose lease has run out, but for those that are taken over where they stand and have not crashed too often.
SELECT {job}
FROM holdfast_jobs
WHERE id {in SELECT id
FROM holdfast_member
WHERE until_ms <= (SELECT {now})
    AND (lifecycle || '/' || losses) {not in :taken_over::text[]}
ORDER BY until_ms
LIMIT :limit::bigint}
ORDER BY lease_until_ms
