-- Part of `apply`: jobs no longer rest.
gone AS (
    DELETE FROM holdfast_rest AS r
    USING member
    WHERE r.id = member.id AND r.state IS NOT DISTINCT FROM :source AND r.version = member.version
    RETURNING
        member.*, r.pos AS prev, NULL::text AS owner, NULL::bigint AS until_ms, NULL::text AS asked,
        r.outcome_digest AS kept_digest
)
