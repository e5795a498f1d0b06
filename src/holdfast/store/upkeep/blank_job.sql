-- Remove what one job was given, its digest kept; run for many rows at once.
UPDATE holdfast_job SET payload = NULL, payload_digest = :payload_digest WHERE id = :id
