-- What retention removed, in order, behind a number.
SELECT {purge}
FROM holdfast_purge
WHERE number > :after
ORDER BY number
LIMIT :limit
