-- The rows of the log that jobs are in.
WITH RECURSIVE part (id, pos, prev) AS (
    SELECT place.id, log.pos, {nth log.prevs {index log.ids place.id}}
    FROM holdfast_jobs AS place
    JOIN holdfast_log AS log ON log.pos = place.pos
    WHERE place.id {in :ids::uuid[]}
    UNION ALL
    SELECT part.id, log.pos, {nth log.prevs {index log.ids part.id}}
    FROM part
    JOIN holdfast_log AS log ON log.pos = part.prev AND part.prev < part.pos
)
SELECT {row}
FROM holdfast_log
WHERE pos {in SELECT DISTINCT pos FROM part}
