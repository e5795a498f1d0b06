-- How many jobs of each task somebody holds. One look for each of them: a plan that begins at the jobs reads all there are.
SELECT task, count(*)
FROM (
    SELECT (SELECT job.task FROM holdfast_job AS job WHERE job.id = member.id) AS task FROM holdfast_member AS member
) AS held
GROUP BY task
