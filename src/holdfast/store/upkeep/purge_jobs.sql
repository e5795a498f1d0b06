-- Jobs that may be purged, with what they hold. Locked, so that none is resumed meanwhile.
SELECT j.id, j.lifecycle, r.state, j.payload, j.payload_digest, r.outcome, r.outcome_digest
FROM holdfast_rest AS r
JOIN holdfast_job AS j ON j.id = r.id
WHERE r.id {in :ids::uuid[]} AND r.finished_at_ms IS NOT NULL
ORDER BY r.id
{lock}
