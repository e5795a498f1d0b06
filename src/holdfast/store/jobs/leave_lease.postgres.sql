-- Part of `apply`: jobs leave the leases that they are under; a lease without jobs goes.
held AS MATERIALIZED (
    SELECT
        lease.token, lease.pos, lease.queue, lease.gate, lease.owner, lease.until_ms, lease.lease_ms, lease.gone,
        lease.asked, leaves.mask::varbit AS mask
    FROM clock
    CROSS JOIN unnest(:tokens::bigint[], :masks::text[]) AS leaves (token, mask)
    JOIN holdfast_lease AS lease ON lease.token = leaves.token
    WHERE (:owner::text IS NULL OR (lease.owner = :owner AND lease.until_ms > clock.now_ms))
        AND (:heir::text IS NULL OR lease.until_ms <= clock.now_ms)
    FOR UPDATE OF lease
),
ended AS (
    DELETE FROM holdfast_lease AS lease USING held
    WHERE lease.token = held.token AND bit_count(held.gone | held.mask) = length(held.gone)
),
thinned AS (
    UPDATE holdfast_lease AS lease
    SET gone = lease.gone | held.mask
    FROM held
    WHERE lease.token = held.token AND bit_count(held.gone | held.mask) < length(held.gone)
),
gone AS MATERIALIZED (
    SELECT
        member.*, held.pos AS prev, held.owner, held.until_ms, held.asked[member.at + 1] AS asked,
        NULL::bytea AS kept_digest
    FROM held
    JOIN member ON member.token = held.token
    WHERE get_bit(held.gone, member.at) = 0
)
