-- Jobs past their expiry, in a state from which their lifecycle expires them.
SELECT {job}
FROM holdfast_jobs
WHERE id {in SELECT id FROM (
    SELECT id, expires_at_ms FROM (
        SELECT id, expires_at_ms FROM holdfast_ready
        WHERE expires_at_ms <= (SELECT {now}) AND (lifecycle || '/' || state) {in :expirable::text[]}
        ORDER BY expires_at_ms LIMIT :limit::bigint
    ) AS waiting
    UNION ALL
    SELECT id, expires_at_ms FROM (
        SELECT rest.id, rest.expires_at_ms FROM holdfast_rest AS rest JOIN holdfast_job AS job ON job.id = rest.id
        WHERE rest.expires_at_ms <= (SELECT {now}) AND rest.finished_at_ms IS NULL
            AND (job.lifecycle || '/' || rest.state) {in :expirable::text[]}
        ORDER BY rest.expires_at_ms LIMIT :limit::bigint
    ) AS resting
    UNION ALL
    SELECT id, expires_at_ms FROM holdfast_member
    WHERE expires_at_ms <= (SELECT {now}) AND (lifecycle || '/' || state) {in :expirable::text[]}
) AS overdue ORDER BY expires_at_ms LIMIT :limit::bigint}
ORDER BY expires_at_ms
