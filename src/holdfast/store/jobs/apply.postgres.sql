-- Apply a path to jobs that stand where it begins: they leave the one place and enter the other, and the log has a row
-- for all of them. What is not returned was refused. A column of equals that is never null comes as one value: unnest
-- pads it.
WITH clock AS MATERIALIZED (
    SELECT {now} AS now_ms
),
member AS MATERIALIZED (
    SELECT
        id,
        coalesce(attempt, (:attempt::integer[])[1]) AS attempt,
        coalesce(version, (:version::integer[])[1]) AS version,
        coalesce(tries, (:tries::integer[])[1]) AS tries,
        coalesce(losses, (:losses::integer[])[1]) AS losses,
        coalesce(changed_at_ms, (:changed_at_ms::bigint[])[1]) AS changed_at_ms,
        coalesce(token, (:token::bigint[])[1]) AS token,
        at, turn, started_at_ms, finished_at_ms, due_at_ms, expires_at_ms, delay_ms, reason, cause, payload, kept,
        outcome, digest
    FROM unnest(
        :id::uuid[], :attempt::integer[], :version::integer[], :tries::integer[], :losses::integer[],
        :changed_at_ms::bigint[], :token::bigint[], :at::integer[], :turn::integer[],
        :started_at_ms::bigint[], :finished_at_ms::bigint[], :due_at_ms::bigint[], :expires_at_ms::bigint[],
        :delay_ms::bigint[], :reason::text[], :cause::text[], :payload::text[], :kept::text[], :outcome::text[],
        :digest::bytea[]
    ) AS m (
        id, attempt, version, tries, losses, changed_at_ms, token, at, turn, started_at_ms, finished_at_ms,
        due_at_ms, expires_at_ms, delay_ms, reason, cause, payload, kept, outcome, digest
    )
),
{leave},
-- A place is asked for once there are rows: by then the transaction has an id, on whose age feed readers rely.
place AS MATERIALIZED (
    SELECT nextval('holdfast_log_pos') AS pos FROM (SELECT 1 FROM gone LIMIT 1) AS any_of_them
),
moved AS MATERIALIZED (
    SELECT
        gone.id, gone.prev, gone.owner, gone.until_ms, gone.asked,
        gone.attempt + :opens::integer AS attempt,
        gone.version + :steps::integer AS version,
        CASE WHEN :tries_reset::boolean THEN 0 ELSE gone.tries + :tries_delta::integer END AS tries,
        gone.losses + :lost::integer AS losses,
        CASE WHEN :starts::boolean THEN timed.at_ms ELSE gone.started_at_ms END AS started_at_ms,
        CASE
            WHEN :finishes::boolean THEN timed.at_ms
            WHEN NOT :reopens::boolean THEN gone.finished_at_ms
        END AS finished_at_ms,
        CASE WHEN :ready::boolean THEN timed.at_ms + coalesce(gone.delay_ms, 0) ELSE gone.due_at_ms END AS due_at_ms,
        -- The time that a job lay ended, and was brought back from, does not count against its expiry.
        CASE
            WHEN :reopens::boolean THEN gone.expires_at_ms + timed.at_ms - gone.finished_at_ms
            WHEN :stale_after_ms::bigint IS NULL THEN gone.expires_at_ms
            ELSE timed.at_ms + coalesce(gone.expires_at_ms - gone.changed_at_ms, :stale_after_ms::bigint)
        END AS expires_at_ms,
        CASE WHEN :finishes::boolean THEN gone.outcome ELSE coalesce(gone.outcome, gone.kept) END AS outcome,
        CASE WHEN gone.outcome IS NULL AND NOT :finishes::boolean THEN gone.kept_digest END AS outcome_digest,
        place.pos, timed.at_ms, gone.reason, gone.cause, gone.payload, gone.digest
    FROM clock
    CROSS JOIN place
    CROSS JOIN gone
    -- A job never goes back in time, whatever the clock does.
    CROSS JOIN LATERAL (SELECT greatest(clock.now_ms, gone.changed_at_ms) AS at_ms) AS timed
),
{enter},
logged AS (
    INSERT INTO holdfast_log (
        pos, lifecycle, path, at_ms, times, actor, ids, prevs, attempts, versions, reasons, causes, payloads, digests{more}
    )
    SELECT
        (SELECT pos FROM place), :lifecycle, :path, (SELECT now_ms FROM clock),
        CASE WHEN max(at_ms) > (SELECT now_ms FROM clock) THEN array_agg(at_ms) END, :actor, array_agg(id),
        array_agg(prev), array_agg(attempt), array_agg(version),
        CASE WHEN count(reason) > 0 THEN array_agg(reason) END,
        CASE WHEN count(cause) > 0 THEN array_agg(cause) END,
        CASE WHEN count(payload) > 0 THEN array_agg(payload) END,
        CASE WHEN count(digest) > 0 THEN array_agg(digest) END{and_more}
    FROM moved
    HAVING count(*) > 0
)
SELECT id, version FROM moved
