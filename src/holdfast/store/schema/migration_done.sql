-- Record a migration, in its own transaction.
INSERT INTO holdfast_migration (name) VALUES (:name)
