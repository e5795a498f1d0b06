-- Take the next due jobs of all turns up to one, the lowest first: what `claim` does for one turn, from the head.
WITH clock AS MATERIALIZED (
    SELECT {now} AS now_ms
),
picked AS MATERIALIZED (
    SELECT id
    FROM holdfast_job
    WHERE ready
        AND queue = :queue AND lifecycle = :lifecycle AND state = :source AND gate = :gate
        AND turn <= :turn
        AND due_at_ms <= (SELECT now_ms FROM clock)
    ORDER BY turn, due_at_ms, id
    LIMIT :limit::bigint
    FOR UPDATE SKIP LOCKED
),
claimed AS (
    UPDATE holdfast_job
    SET
        state = :target,
        version = version + :steps::integer,
        tries = tries + :tries::integer,
        ready = FALSE,
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
    INSERT INTO holdfast_event (job_id, seq, type, from_state, to_state, at_ms, actor, attempt)
    SELECT
        c.id, c.version - :steps::integer + step.n, step.type, step.from_state, step.to_state, c.changed_at_ms,
        :owner, c.attempt
    FROM claimed AS c
    CROSS JOIN unnest(:types::text[], :froms::text[], :tos::text[]) WITH ORDINALITY
        AS step (type, from_state, to_state, n)
)
SELECT {job}
FROM claimed
