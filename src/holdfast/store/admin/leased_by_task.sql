-- How many jobs of each task somebody holds. By an expression: by its column SQLite would walk along the index of tasks,
-- through every job that there is, to save itself a sort.
SELECT task || '', count(*) FROM holdfast_job WHERE lease_until_ms IS NOT NULL GROUP BY 1
