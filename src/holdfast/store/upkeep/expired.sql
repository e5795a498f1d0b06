-- Jobs past their expiry, in a state from which their lifecycle expires them.
SELECT {job}
FROM holdfast_job {hint holdfast_job_expiry}
WHERE expires_at_ms <= {now}
    AND finished_at_ms IS NULL
    AND (lifecycle || '/' || state) {in :expirable::text[]}
ORDER BY expires_at_ms
LIMIT :limit::bigint
