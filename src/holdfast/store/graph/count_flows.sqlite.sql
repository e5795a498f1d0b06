-- Count the ends of nodes for their flows.
UPDATE holdfast_flow
SET
    nodes = nodes + c.more,
    open = open + c.more - c.ended,
    failed = holdfast_flow.failed + c.failed,
    cancelled = holdfast_flow.cancelled + c.cancelled
FROM (
    SELECT
        value ->> 0 AS id, value ->> 1 AS more, value ->> 2 AS ended, value ->> 3 AS failed,
        value ->> 4 AS cancelled
    FROM json_each(:flows)
) AS c
WHERE holdfast_flow.id = c.id
RETURNING {flow}
