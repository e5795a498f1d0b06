-- Extend an owner's leases, or end them now, and leave a signal for each where asked. What is not returned is lost. Of a
-- lease some of whose jobs are left out, the others get one of their own.
WITH clock AS MATERIALIZED (
    SELECT {now} AS now_ms
),
member AS MATERIALIZED (
    SELECT place.id, place.attempt, place.token, place.at, place.size
    FROM {leases l}
    JOIN holdfast_jobs AS place ON place.id = l.job_id
    WHERE place.attempt = l.attempt AND place.lease_owner = :owner
),
chosen AS MATERIALIZED (
    SELECT token, bit_or(set_bit(repeat('0', size)::varbit, at, 1))::varbit AS mask FROM member GROUP BY token ORDER BY token
),
held AS MATERIALIZED (
    SELECT
        lease.token, lease.gone, chosen.mask, CASE WHEN :ends::boolean THEN now_ms ELSE now_ms + lease.lease_ms END AS until_ms
    FROM clock
    CROSS JOIN chosen
    JOIN holdfast_lease AS lease ON lease.token = chosen.token
    WHERE lease.owner = :owner AND lease.until_ms > clock.now_ms
    FOR UPDATE OF lease
),
renewed AS (
    UPDATE holdfast_lease AS lease
    SET until_ms = held.until_ms
    FROM held
    WHERE lease.token = held.token AND bit_count(held.gone | held.mask) = length(held.gone)
),
divided AS (
    UPDATE holdfast_lease AS lease
    SET gone = lease.gone | held.mask
    FROM held
    WHERE lease.token = held.token AND bit_count(held.gone | held.mask) < length(held.gone)
    RETURNING lease.*, held.until_ms AS next_ms, held.gone | ~held.mask AS rest
),
apart AS (
    INSERT INTO holdfast_lease (
        pos, queue, lifecycle, state, gate, owner, until_ms, lease_ms, low, high, expires_at_ms, gone, asked
    )
    SELECT
        pos, queue, lifecycle, state, gate, owner, next_ms, lease_ms, low, high, expires_at_ms, rest, asked
    FROM divided
),
kept AS MATERIALIZED (
    SELECT member.id, member.attempt
    FROM held
    JOIN member ON member.token = held.token
    WHERE get_bit(held.gone, member.at) = 0
),
beats AS (
    INSERT INTO holdfast_signal (job_id, attempt, type, at_ms, actor, expires_at_ms)
    SELECT kept.id, kept.attempt, 'job_lease_renewed', clock.now_ms, :owner, clock.now_ms + :ttl_ms::bigint
    FROM kept, clock
    WHERE :beat::boolean
)
SELECT id FROM kept
