-- The jobs under one correlation id, the job that gave it its name included.
SELECT id FROM holdfast_job WHERE correlation_id = :correlation_id
UNION ALL
SELECT id FROM holdfast_job WHERE id = :id AND correlation_id IS NULL
LIMIT :limit
