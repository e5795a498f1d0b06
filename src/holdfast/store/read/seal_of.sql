-- The seal that covers a position, if one does.
SELECT {seal}
FROM holdfast_seal
WHERE last_pos >= :pos
ORDER BY last_pos
LIMIT 1
