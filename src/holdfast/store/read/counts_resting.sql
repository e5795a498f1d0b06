-- The newest jobs of one state, as many as the cap says, by lifecycle. One look for each of them: a plan that begins at
-- the jobs reads all there are.
SELECT lifecycle, count(*)
FROM (
    SELECT (SELECT job.lifecycle FROM holdfast_job AS job WHERE job.id = newest.id) AS lifecycle
    FROM (SELECT id FROM holdfast_rest WHERE state = :state ORDER BY id DESC LIMIT :cap) AS newest
) AS resting
GROUP BY lifecycle
