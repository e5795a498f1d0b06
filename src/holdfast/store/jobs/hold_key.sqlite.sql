-- Take a key, or learn who holds it. A key passes on when its holder is over, out of its window, or cleaned, as its
-- policy says.
INSERT INTO holdfast_key AS held (scope, key, job_id)
VALUES (:scope, :key, :job_id)
ON CONFLICT (scope, key) DO UPDATE
SET job_id = CASE
    WHEN EXISTS (
        SELECT 1
        FROM holdfast_jobs AS j
        WHERE j.id = held.job_id
            AND CASE :hold
                WHEN 'while_live' THEN j.finished_at_ms IS NOT NULL
                    AND (:window_ms IS NULL OR j.created_at_ms <= :now_ms - :window_ms)
                WHEN 'window' THEN j.created_at_ms <= :now_ms - :window_ms
                ELSE j.state = 'cleaned'
            END
    ) THEN excluded.job_id
    ELSE held.job_id
END
RETURNING scope, key, job_id
