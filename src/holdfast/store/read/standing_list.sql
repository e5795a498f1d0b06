-- Jobs of one state that can be claimed or are held, newest first: no index has them by id, and they are few. They are
-- put in order before they are filtered: a filter is asked until there are enough.
SELECT {job}
FROM holdfast_jobs
WHERE id {in SELECT id
FROM (
    SELECT id
    FROM (
        SELECT id FROM holdfast_ready WHERE state = :state {own}
        UNION ALL
        SELECT id FROM holdfast_member WHERE state = :state {own}
    ) AS either
    WHERE id >= :low AND id < :before
    ORDER BY id DESC
    LIMIT :most
) AS stretch
WHERE TRUE {where}
ORDER BY id DESC
LIMIT :limit}
ORDER BY id DESC
