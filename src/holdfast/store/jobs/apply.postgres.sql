-- Apply a path of rows to the jobs that stand where it begins, each under its own fence, and write its events.
-- What is not returned was refused. IS NOT DISTINCT FROM keeps the plan on the primary key: planned while the table
-- was empty, it would read every job of that state, and stay so.
-- `in_flows`: the flows of the jobs are locked before the first job is, and who is of which is said.
WITH clock AS MATERIALIZED (
    SELECT {now} AS now_ms
),
locked AS MATERIALIZED (
    SELECT id FROM holdfast_flow
    WHERE :in_flows::boolean
        AND id = ANY (ARRAY(SELECT flow_id FROM holdfast_node WHERE job_id = ANY (:job_id::uuid[])))
    ORDER BY id
    FOR UPDATE
),
moved AS (
    UPDATE holdfast_job AS j
    SET
        state = :target,
        version = j.version + :steps::integer,
        attempt = j.attempt + :opens::integer,
        tries = CASE WHEN :tries_reset::boolean THEN 0 ELSE j.tries + :tries_delta::integer END,
        losses = j.losses + :losses::integer,
        ready = :ready::boolean,
        due_at_ms = CASE
            WHEN :ready::boolean THEN greatest(j.changed_at_ms, clock.now_ms) + coalesce(m.delay_ms, 0)
            ELSE j.due_at_ms
        END,
        lease_owner = CASE WHEN :keeps_lease::boolean THEN j.lease_owner END,
        lease_until_ms = CASE WHEN :keeps_lease::boolean THEN j.lease_until_ms END,
        changed_at_ms = greatest(j.changed_at_ms, clock.now_ms),
        started_at_ms = CASE
            WHEN :starts::boolean THEN greatest(j.changed_at_ms, clock.now_ms) ELSE j.started_at_ms
        END,
        finished_at_ms = CASE
            WHEN :finishes::boolean THEN greatest(j.changed_at_ms, clock.now_ms)
            WHEN :reopens::boolean THEN NULL
            ELSE j.finished_at_ms
        END,
        -- The time that a job lay ended, and was brought back from, does not count against its expiry.
        expires_at_ms = CASE
            WHEN :reopens::boolean
                THEN j.expires_at_ms + greatest(j.changed_at_ms, clock.now_ms) - j.finished_at_ms
            WHEN :stale_after_ms::bigint IS NULL THEN j.expires_at_ms
            ELSE greatest(j.changed_at_ms, clock.now_ms)
                + coalesce(j.expires_at_ms - j.changed_at_ms, :stale_after_ms::bigint)
        END,
        cancel_requested = CASE WHEN :keeps_lease::boolean THEN j.cancel_requested END,
        outcome = CASE WHEN :finishes::boolean THEN m.outcome ELSE coalesce(m.outcome, j.outcome) END
    FROM clock, unnest(
        :job_id::uuid[], :attempt::integer[], :delay_ms::bigint[], :reason::text[], :cause::text[],
        :payload::text[], :outcome::text[], :digest::bytea[]
    ) AS m (job_id, attempt, delay_ms, reason, cause, payload, outcome, digest)
    WHERE j.id = m.job_id
        AND j.attempt = m.attempt
        AND j.state IS NOT DISTINCT FROM :source
        AND j.lifecycle = :lifecycle
        AND (:owner::text IS NULL OR (j.lease_owner = :owner AND j.lease_until_ms > clock.now_ms))
        AND (SELECT count(*) FROM locked) >= 0
    RETURNING
        j.id, j.version, j.attempt, j.changed_at_ms, m.reason, m.cause, m.payload, m.digest
),
logged AS (
    INSERT INTO holdfast_event ({new_event})
    SELECT
        moved.id, moved.version - :steps::integer + step.n, step.type, step.from_state, step.to_state,
        moved.changed_at_ms, :actor, moved.attempt - step.opens_later, moved.reason, moved.cause,
        CASE WHEN step.n = :steps::integer THEN moved.payload END,
        CASE WHEN step.n = :steps::integer THEN moved.digest END
    FROM moved
    CROSS JOIN unnest(:types::text[], :froms::text[], :tos::text[], :opens_later::integer[]) WITH ORDINALITY
        AS step (type, from_state, to_state, opens_later, n)
)
SELECT
    id, version,
    (SELECT n.flow_id FROM holdfast_node AS n WHERE :in_flows::boolean AND n.job_id = moved.id) AS flow_id
FROM moved
