-- How often the rows of the log up to a place name a job.
SELECT coalesce(sum(
    {sqlite (SELECT count(value) FROM json_each(ids))}
    {postgres cardinality(ids) - coalesce(cardinality(array_positions(ids, NULL)), 0)}
), 0)
FROM holdfast_log
WHERE pos <= :upto
