-- Keep a lifecycle's table beside the jobs that follow it.
INSERT INTO holdfast_lifecycle (name, definition, at_ms)
VALUES (:name, :definition, :at_ms)
ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, at_ms = excluded.at_ms
