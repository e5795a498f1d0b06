-- Remove what one job's first event has to say, its digest kept; run for many rows at once.
UPDATE holdfast_job SET event_payload = NULL, event_payload_digest = :payload_digest WHERE id = :id
