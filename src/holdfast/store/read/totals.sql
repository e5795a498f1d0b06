-- How many jobs there are, and how many first events.
SELECT
    (SELECT count(*) FROM holdfast_job) AS jobs,
    (SELECT count(*) FROM holdfast_job WHERE pos > 0) AS started
