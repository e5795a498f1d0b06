-- The flows between two ids, these included: their counts, and where their jobs stand.
SELECT f.id, f.nodes, f.open, f.failed, f.cancelled, j.state
FROM holdfast_flow AS f
LEFT JOIN holdfast_jobs AS j ON j.id = f.id
WHERE f.id >= :first AND f.id <= :last
