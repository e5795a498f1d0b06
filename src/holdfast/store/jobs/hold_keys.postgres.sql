-- Take keys, or learn who holds them. The row lock orders rival submits; a holder that this snapshot cannot see yet
-- counts as holding. A key passes on when its holder is over, out of its window, or cleaned, as its policy says.
WITH clock AS MATERIALIZED (
    SELECT {now} AS now_ms
)
INSERT INTO holdfast_key AS held (scope, key, job_id)
SELECT s.scope, s.key, s.job_id
FROM unnest(:scope::text[], :key::text[], :job_id::uuid[]) AS s (scope, key, job_id)
ORDER BY s.scope, s.key
ON CONFLICT (scope, key) DO UPDATE
SET job_id = CASE
    -- Not EXISTS: planned while there are no jobs, it would read all of them.
    WHEN (
        SELECT CASE :hold::text
            WHEN 'while_live' THEN j.finished_at_ms IS NOT NULL
                AND (:window_ms::bigint IS NULL OR j.created_at_ms <= clock.now_ms - :window_ms::bigint)
            WHEN 'window' THEN j.created_at_ms <= clock.now_ms - :window_ms::bigint
            ELSE j.state = 'cleaned'
        END
        FROM holdfast_jobs AS j, clock
        WHERE j.id = held.job_id
    ) THEN excluded.job_id
    ELSE held.job_id
END
RETURNING held.scope, held.key, held.job_id
