-- Remove one job's bodies, their digests kept; run for many rows at once.
UPDATE holdfast_job
SET payload = NULL, payload_digest = :payload_digest, outcome = NULL, outcome_digest = :outcome_digest
WHERE id = :id
