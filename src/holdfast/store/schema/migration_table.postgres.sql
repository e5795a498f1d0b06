-- The list of applied migrations: the one table that exists before the first of them. Under the migrations' lock,
-- because IF NOT EXISTS alone fails when two make it at once.
DO $$
BEGIN
    IF to_regclass('holdfast_migration') IS NULL THEN
        PERFORM pg_advisory_xact_lock(1752132708);
        CREATE TABLE IF NOT EXISTS holdfast_migration (name text NOT NULL PRIMARY KEY);
    END IF;
END
$$
