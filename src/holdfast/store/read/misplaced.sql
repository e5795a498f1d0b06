-- Jobs that do not stand in one place, in the lane that they are of: which, and what is wrong.
SELECT id, 'it stands in ' || count(*) || ' places' AS problem
FROM (
    SELECT id FROM holdfast_rest
    UNION ALL
    SELECT id FROM holdfast_ready
    UNION ALL
    SELECT id FROM holdfast_member
) AS places
GROUP BY id
HAVING count(*) > 1
UNION ALL
SELECT place.id, 'it rests, but its row is gone'
FROM holdfast_rest AS place
LEFT JOIN holdfast_job AS job ON job.id = place.id
WHERE job.id IS NULL
UNION ALL
SELECT place.id, CASE WHEN job.id IS NULL THEN 'it can be claimed, but its row is gone' ELSE 'it waits in another lane' END
FROM holdfast_ready AS place
LEFT JOIN holdfast_job AS job ON job.id = place.id
WHERE job.id IS NULL OR place.queue <> job.queue OR place.lifecycle <> job.lifecycle OR place.gate <> job.gate
    OR (NOT place.moved AND (place.state <> job.state OR place.turn <> job.turn OR place.due_at_ms <> job.due_at_ms))
UNION ALL
SELECT place.id, CASE WHEN job.id IS NULL THEN 'it is leased, but its row is gone' ELSE 'it is leased in another lane' END
FROM holdfast_member AS place
LEFT JOIN holdfast_job AS job ON job.id = place.id
WHERE job.id IS NULL OR place.queue <> job.queue OR place.lifecycle <> job.lifecycle OR place.gate <> job.gate
{postgres UNION ALL
SELECT NULL, 'lease ' || lease.token || ' is not of its row of the log'
FROM holdfast_lease AS lease
LEFT JOIN holdfast_log AS log ON log.pos = lease.pos
WHERE log.pos IS NULL OR cardinality(log.ids) <> length(lease.gone) OR bit_count(lease.gone) = length(lease.gone)}
