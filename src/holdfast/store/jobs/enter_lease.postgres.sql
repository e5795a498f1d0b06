-- Part of `apply`: jobs go on under a lease, in one of their own.
placed AS MATERIALIZED (
    SELECT nextval('holdfast_token') AS token, array_agg(id) AS ids FROM moved HAVING count(*) > 0
),
entered AS (
    INSERT INTO holdfast_lease (
        token, pos, queue, lifecycle, state, gate, owner, until_ms, lease_ms, low, high, expires_at_ms, gone, asked
    )
    SELECT
        placed.token, place.pos, held.queue, :lifecycle, :target, held.gate, coalesce(:heir::text, held.owner),
        CASE WHEN :heir::text IS NULL THEN held.until_ms ELSE clock.now_ms + held.lease_ms END, held.lease_ms,
        (SELECT id FROM moved ORDER BY id LIMIT 1), (SELECT id FROM moved ORDER BY id DESC LIMIT 1),
        (SELECT min(expires_at_ms) FROM moved), repeat('0', cardinality(placed.ids))::varbit,
        (SELECT CASE WHEN count(asked) > 0 THEN array_agg(asked) END FROM moved)
    FROM placed, held, clock, place
)
