-- The migrations that this database has.
SELECT name FROM holdfast_migration ORDER BY name
