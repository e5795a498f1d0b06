-- A mark for a reader at a gap: the highest position that is there, and a transaction id that is younger than
-- everyone's who was given a lower one. The snapshot comes before the id.
SELECT pg_current_xact_id()::text::bigint AS xid, (SELECT max(pos) FROM holdfast_event) AS high
