-- Jobs leave their worker's hands. What is not returned was refused.
DELETE FROM holdfast_held
WHERE (id, attempt) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:moves))
    AND state = :source AND lifecycle = :lifecycle
    AND (:owner IS NULL OR (owner = :owner AND until_ms > :now_ms))
    AND (:heir IS NULL OR until_ms <= :now_ms)
RETURNING
    id, attempt, version, tries, losses, due_at_ms AS due_at_ms, changed_at_ms, started_at_ms, NULL AS finished_at_ms,
    expires_at_ms, pos, outcome, NULL AS outcome_digest, asked, queue, gate, owner, until_ms, lease_ms
