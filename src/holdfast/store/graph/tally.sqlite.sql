-- Count the ends of nodes for the nodes that wait for them; how these stand then. `more` is what a node that ran over a
-- list puts in its place: so many nodes, less itself.
UPDATE holdfast_node
SET
    parents = parents + hit.more,
    taken = holdfast_node.taken + hit.taken,
    dead = holdfast_node.dead + hit.dead,
    broken = holdfast_node.broken + hit.broken
FROM (
    SELECT
        e.child_id,
        sum(ended.edge = 'taken' AND cut.name IS NULL) AS taken,
        sum(ended.edge = 'dead' OR (ended.edge = 'taken' AND cut.name IS NOT NULL)) AS dead,
        sum(ended.edge = 'broken') AS broken,
        sum(ended.more) AS more
    FROM (
        SELECT value ->> 0 AS parent_id, value ->> 1 AS edge, value ->> 2 AS more FROM json_each(:ended)
    ) AS ended
    CROSS JOIN holdfast_edge AS e ON e.parent_id = ended.parent_id
    -- Names are looked up for parents that leave somebody out, and for nobody else.
    LEFT JOIN (SELECT value ->> 0 AS parent_id, value ->> 1 AS name FROM json_each(:cuts)) AS cut
        ON cut.parent_id = ended.parent_id
        AND cut.name = (SELECT n.name FROM holdfast_node AS n WHERE n.job_id = e.child_id)
    GROUP BY e.child_id
) AS hit
WHERE holdfast_node.job_id = hit.child_id
RETURNING
    job_id, flow_id, join_kind, need, parents, taken, dead, broken,
    coalesce((SELECT r.state FROM holdfast_rest AS r WHERE r.id = holdfast_node.job_id), 'queued') AS state,
    coalesce((SELECT r.attempt FROM holdfast_rest AS r WHERE r.id = holdfast_node.job_id), 1) AS attempt,
    (
        SELECT max(coalesce(r.due_at_ms, j.due_at_ms) - :now_ms, 0)
        FROM holdfast_job AS j LEFT JOIN holdfast_rest AS r ON r.id = j.id
        WHERE j.id = holdfast_node.job_id
    ) AS delay_ms
