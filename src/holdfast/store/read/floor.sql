-- The job that stands so many places down an index: how far a walk past that many jobs gets.
SELECT id FROM {walked} WHERE {range} ORDER BY {order} LIMIT 1 OFFSET :steps
