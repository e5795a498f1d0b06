-- The last row of the log.
SELECT {row} FROM holdfast_row ORDER BY pos DESC LIMIT 1
