-- How one stage of a pipeline ended lately, newest first, over all of its jobs; runs that skipped it say nothing.
SELECT s.at_ms, s.result::json ->> 'status'
FROM (SELECT id FROM holdfast_job WHERE task = :task ORDER BY id DESC LIMIT :jobs::bigint) AS j
INNER JOIN holdfast_step AS s ON s.job_id = j.id AND s.name = :name
WHERE s.result::json ->> 'status' <> 'skipped'
ORDER BY s.at_ms DESC
LIMIT :limit::bigint
