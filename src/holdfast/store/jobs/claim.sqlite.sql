-- Take the next due jobs of one lane. The writer is alone, so that nothing needs to be locked or passed over.
UPDATE holdfast_job
SET
    state = :target,
    version = version + :steps,
    tries = tries + :tries,
    ready = 0,
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
    FROM holdfast_job INDEXED BY holdfast_job_ready
    WHERE ready
        AND queue = :queue AND lifecycle = :lifecycle AND state = :source AND turn = :turn
        AND gate = :gate
        AND due_at_ms <= :now_ms
    ORDER BY due_at_ms, id
    LIMIT :limit
)
RETURNING
    rowid, {job}
