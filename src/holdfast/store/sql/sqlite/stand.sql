-- Where jobs stand, to say why a move was refused.
SELECT id, lifecycle, state, attempt, lease_owner, lease_until_ms <= :now_ms AS expired
FROM holdfast_job
WHERE id IN (SELECT value FROM json_each(:ids))
