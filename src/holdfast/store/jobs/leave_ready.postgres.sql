-- Part of `apply`: jobs are no longer there to be claimed.
gone AS (
    DELETE FROM holdfast_ready AS r
    USING member, holdfast_job AS j
    WHERE j.id = member.id
        AND r.queue = j.queue AND r.lifecycle = :lifecycle AND r.state = :source AND r.turn = member.turn
        AND r.gate = j.gate AND r.due_at_ms = member.due_at_ms AND r.id = member.id
        AND r.version = member.version
    RETURNING
        member.*, r.pos AS prev, NULL::text AS owner, NULL::bigint AS until_ms, NULL::text AS asked,
        NULL::bytea AS kept_digest
)
