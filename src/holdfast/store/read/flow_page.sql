-- The next flows by id, with how many nodes they count.
SELECT id, nodes FROM holdfast_flow WHERE id > :after ORDER BY id LIMIT :limit
