-- Jobs whose lease has run out, but for those that are taken over where they stand and have not crashed too often.
SELECT {job}
FROM holdfast_job {hint holdfast_job_lease}
WHERE lease_until_ms <= {now}
    AND (lifecycle || '/' || losses) {not in :taken_over::text[]}
ORDER BY lease_until_ms
LIMIT :limit::bigint
