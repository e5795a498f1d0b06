-- Jobs that may be purged, with what they hold. Locked, so that none is resumed meanwhile.
SELECT id, lifecycle, state, payload, payload_digest, outcome, outcome_digest
FROM holdfast_job
WHERE id {in :ids::uuid[]} AND finished_at_ms IS NOT NULL
ORDER BY id
{lock}
