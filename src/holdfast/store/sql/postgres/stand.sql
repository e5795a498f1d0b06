-- Where jobs stand, to say why a move was refused.
SELECT
    id, lifecycle, state, attempt, lease_owner,
    lease_until_ms <= coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS expired
FROM holdfast_job
WHERE id = ANY (:ids::uuid[])
