-- How many jobs there are, and how many first events.
SELECT
    (SELECT count(*) FROM holdfast_job) AS jobs,
    (SELECT count(*) FROM holdfast_event WHERE seq = 1) AS started
