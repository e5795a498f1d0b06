-- The first event of a job that was submitted without more words; run for many rows at once.
INSERT INTO holdfast_event (job_id, seq, type, to_state, at_ms, actor, attempt, digest)
VALUES (:job_id, 1, :type, :to_state, :at_ms, :actor, 1, :digest)
