-- Remove one event's payload, its digest kept; run for many rows at once.
UPDATE holdfast_event SET payload = NULL, payload_digest = :payload_digest WHERE job_id = :job_id AND seq = :seq
