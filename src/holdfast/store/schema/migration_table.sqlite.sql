-- The list of applied migrations: the one table that exists before the first of them.
CREATE TABLE IF NOT EXISTS holdfast_migration (name text NOT NULL PRIMARY KEY)
