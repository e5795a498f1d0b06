-- Where jobs stand, to say why a move was refused.
SELECT id, lifecycle, state, attempt, lease_owner, lease_until_ms <= {now} AS expired
FROM holdfast_jobs
WHERE id {in :ids::uuid[]}
