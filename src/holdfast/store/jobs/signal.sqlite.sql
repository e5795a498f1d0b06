-- Keep one signal until its time to live is over; run for many rows at once.
INSERT INTO holdfast_signal (job_id, attempt, type, at_ms, actor, payload, expires_at_ms)
VALUES (:job_id, :attempt, :type, :at_ms, :actor, :payload, :expires_at_ms)
