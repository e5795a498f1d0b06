-- Count the ends of nodes for the nodes that wait for them, and for their flows; how these stand then, each flow as a
-- row without a job. `more` is what a node that ran over a list puts in its place: so many nodes, less itself.
WITH clock AS MATERIALIZED (
    SELECT {now} AS now_ms
),
hit AS MATERIALIZED (
    SELECT
        e.child_id,
        count(*) FILTER (WHERE ended.edge = 'taken' AND cut.name IS NULL) AS taken,
        count(*) FILTER (WHERE ended.edge = 'dead' OR (ended.edge = 'taken' AND cut.name IS NOT NULL)) AS dead,
        count(*) FILTER (WHERE ended.edge = 'broken') AS broken,
        sum(ended.more) AS more
    FROM unnest(:parent::uuid[], :edge::text[], :more::integer[]) AS ended (parent_id, edge, more)
    JOIN holdfast_edge AS e ON e.parent_id = ended.parent_id
    -- Names are looked up for parents that leave somebody out, and for nobody else.
    LEFT JOIN unnest(:cut_parent::uuid[], :cut_name::text[]) AS cut (parent_id, name)
        ON cut.parent_id = ended.parent_id
        AND cut.name = (SELECT n.name FROM holdfast_node AS n WHERE n.job_id = e.child_id)
    GROUP BY e.child_id
),
tallied AS (
    UPDATE holdfast_node AS n
    SET
        parents = n.parents + hit.more,
        taken = n.taken + hit.taken,
        dead = n.dead + hit.dead,
        broken = n.broken + hit.broken
    FROM hit
    CROSS JOIN clock
    JOIN holdfast_job AS job ON job.id = hit.child_id
    LEFT JOIN holdfast_rest AS rest ON rest.id = hit.child_id
    WHERE n.job_id = hit.child_id
    RETURNING
        n.job_id, n.flow_id, n.join_kind, n.need, n.parents, n.taken, n.dead, n.broken,
        -- Whoever waits is at rest; of the others it is enough that they do not.
        coalesce(rest.state, 'queued') AS state, coalesce(rest.attempt, 1) AS attempt,
        greatest(coalesce(rest.due_at_ms, job.due_at_ms) - clock.now_ms, 0) AS delay_ms
),
counted AS (
    UPDATE holdfast_flow AS f
    SET
        nodes = f.nodes + c.more,
        open = f.open + c.more - c.ended,
        failed = f.failed + c.failed,
        cancelled = f.cancelled + c.cancelled
    FROM unnest(
        :flow::uuid[], :flow_more::integer[], :flow_ended::integer[], :flow_failed::integer[],
        :flow_cancelled::integer[]
    ) AS c (id, more, ended, failed, cancelled)
    WHERE f.id = c.id
    RETURNING {flow f}
)
SELECT job_id, flow_id, join_kind, need, parents, taken, dead, broken, state, attempt, delay_ms FROM tallied
UNION ALL
SELECT NULL, {flow}, NULL, NULL, NULL, NULL FROM counted
