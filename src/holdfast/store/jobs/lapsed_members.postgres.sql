-- Jobs whose lease ran out and whose lifecycle goes on where it stands, as far as they have not crashed too often.
SELECT {job}, token, at, size, moved_to_ms, turn
FROM holdfast_jobs
WHERE id = ANY (ARRAY(
    SELECT member.id
    FROM (
        SELECT token FROM holdfast_lease
        WHERE until_ms <= (SELECT {now}) AND lifecycle = :lifecycle AND state = :source AND queue = ANY (:queues::text[])
        ORDER BY until_ms
        LIMIT :limit::bigint
        FOR UPDATE SKIP LOCKED
    ) AS lapsed
    JOIN holdfast_member AS member ON member.token = lapsed.token
    WHERE member.losses + 1 < :crash_budget::integer
    ORDER BY member.until_ms
    LIMIT :limit::bigint
))
