-- Apply a path of rows to the jobs that stand where it begins, each under its own fence. What is not returned was
-- refused; the events of the rest follow in the same transaction. The plus signs keep the plan on the primary key.
-- `in_flows`: who is of which flow is said.
UPDATE holdfast_job
SET
    state = :target,
    version = version + :steps,
    attempt = holdfast_job.attempt + :opens,
    tries = CASE WHEN :tries_reset THEN 0 ELSE tries + :tries_delta END,
    losses = losses + :losses,
    ready = :ready,
    due_at_ms = CASE WHEN :ready THEN max(changed_at_ms, :now_ms) + coalesce(m.delay_ms, 0) ELSE due_at_ms END,
    lease_owner = CASE WHEN :keeps_lease THEN lease_owner END,
    lease_until_ms = CASE WHEN :keeps_lease THEN lease_until_ms END,
    changed_at_ms = max(changed_at_ms, :now_ms),
    started_at_ms = CASE WHEN :starts THEN max(changed_at_ms, :now_ms) ELSE started_at_ms END,
    finished_at_ms = CASE
        WHEN :finishes THEN max(changed_at_ms, :now_ms)
        WHEN :reopens THEN NULL
        ELSE finished_at_ms
    END,
    -- The time that a job lay ended, and was brought back from, does not count against its expiry.
    expires_at_ms = CASE
        WHEN :reopens THEN expires_at_ms + max(changed_at_ms, :now_ms) - finished_at_ms
        WHEN :stale_after_ms IS NULL THEN expires_at_ms
        ELSE max(changed_at_ms, :now_ms) + coalesce(expires_at_ms - changed_at_ms, :stale_after_ms)
    END,
    cancel_requested = CASE WHEN :keeps_lease THEN cancel_requested END,
    outcome = CASE WHEN :finishes THEN m.outcome ELSE coalesce(m.outcome, holdfast_job.outcome) END
FROM (
    SELECT
        value ->> 0 AS job_id,
        value ->> 1 AS attempt,
        value ->> 2 AS delay_ms,
        value ->> 3 AS outcome
    FROM json_each(:moves)
) AS m
WHERE holdfast_job.id = m.job_id
    AND holdfast_job.attempt = m.attempt
    AND +state = :source
    AND +lifecycle = :lifecycle
    AND (:owner IS NULL OR (lease_owner = :owner AND lease_until_ms > :now_ms))
RETURNING
    rowid, id, version, attempt, changed_at_ms,
    CASE WHEN :in_flows THEN (SELECT n.flow_id FROM holdfast_node AS n WHERE n.job_id = holdfast_job.id) END AS flow_id
