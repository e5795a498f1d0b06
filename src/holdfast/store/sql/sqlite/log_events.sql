-- Write one event; run for many rows at once.
INSERT INTO holdfast_event (
    job_id, seq, type, from_state, to_state, at_ms, actor, attempt, reason, cause, payload, digest
)
VALUES (
    :job_id, :seq, :type, :from_state, :to_state, :at_ms, :actor, :attempt, :reason, :cause, :payload, :digest
)
