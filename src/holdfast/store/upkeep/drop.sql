-- Remove what one table keeps of jobs: they are removed, and all that belongs to them. Seals account for the events.
DELETE FROM {table} WHERE {column} {in :ids::uuid[]}
