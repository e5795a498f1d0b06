-- The events of a path of one or two rows that jobs have just taken: the row says when, by which version and in which
-- attempt.
INSERT INTO holdfast_event (job_id, seq, type, from_state, to_state, at_ms, actor, attempt, reason)
SELECT
    j.id, j.version - :steps + p.n, p.type, p.from_state, p.to_state, j.changed_at_ms, :actor,
    j.attempt - p.opens_later, :reason
FROM json_each(:rows) AS r
CROSS JOIN holdfast_job AS j ON j.rowid = r.value
CROSS JOIN (
    SELECT
        1 AS n, :first_type AS type, :first_from AS from_state, :first_to AS to_state, :opens_later AS opens_later
    UNION ALL
    SELECT 2, :last_type, :last_from, :last_to, 0
    WHERE :steps = 2
) AS p
