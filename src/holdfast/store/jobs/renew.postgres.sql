-- Extend an owner's leases, and leave a signal for each where asked. What is not returned is lost.
WITH clock AS MATERIALIZED (
    SELECT {now} AS now_ms
),
renewed AS (
    UPDATE holdfast_job AS j
    SET lease_until_ms = clock.now_ms + j.lease_ms
    FROM clock, {leases l}
    WHERE j.id = l.job_id
        AND j.attempt = l.attempt
        AND j.lease_owner = :owner
        AND j.lease_until_ms > clock.now_ms
    RETURNING j.id, j.attempt
),
beats AS (
    INSERT INTO holdfast_signal (job_id, attempt, type, at_ms, actor, expires_at_ms)
    SELECT renewed.id, renewed.attempt, 'job_lease_renewed', clock.now_ms, :owner, clock.now_ms + :ttl_ms::bigint
    FROM renewed, clock
    WHERE :beat::boolean
)
SELECT id FROM renewed
