-- Rows of the log behind a place. The writer is alone: nothing commits late.
SELECT 0 AS xmin, {row}
FROM holdfast_row
WHERE pos > :after
ORDER BY pos
LIMIT :limit
