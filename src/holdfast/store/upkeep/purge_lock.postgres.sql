-- One purge at a time, until its transaction ends: each record is chained to the last.
SELECT pg_advisory_xact_lock(x'686f6c65'::integer)
