-- One purge at a time, until its transaction ends: each record is chained to the last. SQLite's writer is alone anyway.
SELECT {sqlite 1} {postgres pg_advisory_xact_lock(x'686f6c65'::integer)}
