-- The deadlines that have passed are spent, as many as were looked at.
DELETE FROM holdfast_deadline
WHERE rowid IN (SELECT rowid FROM holdfast_deadline WHERE at_ms <= :now_ms ORDER BY at_ms LIMIT :limit)
