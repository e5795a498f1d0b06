-- Rows of the log behind a place.
SELECT {row}
FROM holdfast_row
WHERE pos > :after
ORDER BY pos
LIMIT :limit
