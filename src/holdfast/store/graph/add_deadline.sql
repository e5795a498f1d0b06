-- Let a job move up at a time; run for many rows at once.
INSERT INTO holdfast_deadline (job_id, at_ms, turn) VALUES (:job_id, :at_ms, :turn)
