-- The newest seal.
SELECT {seal}
FROM holdfast_seal
ORDER BY number DESC
LIMIT 1
