-- The events of a path that jobs have just taken: the row says when, by which version and in which attempt.
INSERT INTO holdfast_event (job_id, seq, type, from_state, to_state, at_ms, actor, attempt, reason)
SELECT
    j.id, j.version - :steps + p.key + 1, p.value ->> 0, p.value ->> 1, p.value ->> 2, j.changed_at_ms, :actor,
    j.attempt - (p.value ->> 3), :reason
FROM json_each(:rows) AS r
CROSS JOIN holdfast_job AS j ON j.rowid = r.value
CROSS JOIN json_each(:path) AS p
