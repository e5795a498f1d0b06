-- How much there is to move, in a database of before jobs had places.
SELECT (SELECT count(*) FROM holdfast_job), (SELECT count(*) FROM holdfast_event)
