-- Ask the owners of leased jobs to stop. A hard request is not softened by a later one.
WITH member AS MATERIALIZED (
    SELECT place.id, place.token, place.at
    FROM {leases l}
    JOIN holdfast_jobs AS place ON place.id = l.job_id
    WHERE place.attempt = l.attempt AND place.token IS NOT NULL
),
told AS (
    UPDATE holdfast_lease AS lease
    SET asked = (
        SELECT
            array_agg(
                CASE
                    WHEN lease.asked[n + 1] = 'hard' THEN 'hard'
                    WHEN n = ANY (chosen.places) THEN :mode::text
                    ELSE lease.asked[n + 1]
                END
                ORDER BY n
            )
        FROM generate_series(0, length(lease.gone) - 1) AS n
    )
    FROM (SELECT token, array_agg(at) AS places FROM member GROUP BY token ORDER BY token) AS chosen
    WHERE lease.token = chosen.token
    RETURNING lease.token, lease.gone
)
SELECT member.id
FROM told
JOIN member ON member.token = told.token
WHERE get_bit(told.gone, member.at) = 0
