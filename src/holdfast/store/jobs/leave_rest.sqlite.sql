-- Jobs rest no more. What is not returned was refused.
DELETE FROM holdfast_rest
WHERE (id, attempt) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:moves))
    AND +state = :source
    AND EXISTS (SELECT 1 FROM holdfast_job AS job WHERE job.id = holdfast_rest.id AND job.lifecycle = :lifecycle)
RETURNING
    id, attempt, version, tries, losses, due_at_ms AS due_at_ms, changed_at_ms, started_at_ms, finished_at_ms AS finished_at_ms,
    expires_at_ms, pos, outcome, outcome_digest AS outcome_digest
