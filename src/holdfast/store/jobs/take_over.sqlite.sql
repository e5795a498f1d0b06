-- Take jobs whose lease ran out and whose lifecycle goes on where it stands: the next attempt, a new owner.
UPDATE holdfast_job
SET
    state = :target,
    version = version + 1,
    attempt = attempt + 1,
    tries = tries + :tries,
    losses = losses + :losses,
    lease_owner = :owner,
    lease_until_ms = max(changed_at_ms, :now_ms) + lease_ms,
    changed_at_ms = max(changed_at_ms, :now_ms),
    started_at_ms = CASE WHEN :starts THEN max(changed_at_ms, :now_ms) ELSE started_at_ms END,
    -- A job that stands still for too long has a limit of its own, which begins anew with every change.
    expires_at_ms = CASE
        WHEN :stale_after_ms IS NULL THEN expires_at_ms
        ELSE max(changed_at_ms, :now_ms) + coalesce(expires_at_ms - changed_at_ms, :stale_after_ms)
    END
WHERE rowid IN (
    SELECT rowid
    FROM holdfast_job INDEXED BY holdfast_job_lease
    WHERE lease_until_ms <= :now_ms
        AND lifecycle = :lifecycle AND state = :source
        AND queue IN (SELECT value FROM json_each(:queues))
        AND losses + 1 < :crash_budget
    ORDER BY lease_until_ms
    LIMIT :limit
)
RETURNING
    rowid, {job}
