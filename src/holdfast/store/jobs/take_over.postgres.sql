-- Take jobs whose lease ran out and whose lifecycle goes on where it stands: the next attempt, a new owner.
WITH clock AS MATERIALIZED (
    SELECT {now} AS now_ms
),
picked AS MATERIALIZED (
    SELECT id
    FROM holdfast_job
    WHERE lease_until_ms <= (SELECT now_ms FROM clock)
        AND lifecycle = :lifecycle AND state = :source AND queue = ANY (:queues::text[])
        AND losses + 1 < :crash_budget::integer
    ORDER BY lease_until_ms
    LIMIT :limit::bigint
    FOR UPDATE SKIP LOCKED
),
claimed AS (
    UPDATE holdfast_job
    SET
        state = :target,
        version = version + 1,
        attempt = attempt + 1,
        tries = tries + :tries::integer,
        losses = losses + :losses::integer,
        lease_owner = :owner,
        lease_until_ms = greatest(changed_at_ms, (SELECT now_ms FROM clock)) + lease_ms,
        changed_at_ms = greatest(changed_at_ms, (SELECT now_ms FROM clock)),
        started_at_ms = CASE
            WHEN :starts::boolean THEN greatest(changed_at_ms, (SELECT now_ms FROM clock)) ELSE started_at_ms
        END,
        -- A job that stands still for too long has a limit of its own, which begins anew with every change.
        expires_at_ms = CASE
            WHEN :stale_after_ms::bigint IS NULL THEN expires_at_ms
            ELSE greatest(changed_at_ms, (SELECT now_ms FROM clock))
                + coalesce(expires_at_ms - changed_at_ms, :stale_after_ms::bigint)
        END
    WHERE id = ANY (ARRAY(SELECT id FROM picked))
    RETURNING *
),
logged AS (
    INSERT INTO holdfast_event (job_id, seq, type, from_state, to_state, at_ms, actor, attempt, reason)
    SELECT id, version, :type, :source, :target, changed_at_ms, :owner, attempt, 'lease_expired'
    FROM claimed
)
SELECT {job}
FROM claimed
