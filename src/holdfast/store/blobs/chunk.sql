-- The stretch of a blob that one of its bytes lies in.
SELECT c.start, c.size, c.data
FROM holdfast_blob AS b JOIN holdfast_chunk AS c ON c.put_id = b.put_id
WHERE b.digest = :digest AND c.start <= :at
ORDER BY c.start DESC
LIMIT 1
