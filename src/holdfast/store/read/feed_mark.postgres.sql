-- A mark for a reader at a gap: the highest place that is there, and a transaction id that is younger than everyone's who
-- was given a lower one. The snapshot comes before the id.
SELECT
    pg_current_xact_id()::text::bigint AS xid,
    greatest((SELECT max(pos) FROM holdfast_log), (SELECT max(pos) FROM holdfast_job)) AS high
