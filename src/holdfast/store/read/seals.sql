-- Seals behind a number, in order.
SELECT {seal}
FROM holdfast_seal
WHERE number > :after
ORDER BY number
LIMIT :limit
