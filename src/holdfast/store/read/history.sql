-- The events of jobs, by way of the log's rows that they are in: from where each stands back to the first, which is the
-- job's own.
WITH RECURSIVE part (id, pos, prev) AS (
    SELECT place.id, log.pos, {nth log.prevs {index log.ids place.id}}
    FROM holdfast_jobs AS place
    JOIN holdfast_log AS log ON log.pos = place.pos
    WHERE place.id {in :ids::uuid[]}
    UNION ALL
    SELECT part.id, log.pos, {nth log.prevs {index log.ids part.id}}
    FROM part
    JOIN holdfast_log AS log ON log.pos = part.prev AND part.prev < part.pos
),
found AS (
    SELECT part.id, part.prev, {index log.ids part.id} AS i, log.*
    FROM part
    JOIN holdfast_log AS log ON log.pos = part.pos
)
SELECT
    id, pos, prev, i, path, coalesce({nth times i}, at_ms) AS at_ms, actor, {nth attempts i} AS attempt,
    {nth versions i} AS version, {nth reasons i} AS reason,
    {nth causes i} AS cause, {nth payloads i} AS payload, {nth payload_digests i} AS payload_digest,
    {nth digests i} AS digest, schema_version
FROM found
WHERE i IS NOT NULL
UNION ALL
SELECT
    job.id, job.pos, NULL, 0, '[[' || {quoted job.event_type} || ',null,' || {quoted job.state} || ',0]]',
    job.created_at_ms, job.actor, 1, 1, job.reason, job.cause, job.event_payload, {hexed job.event_payload_digest},
    {hexed job.digest}, 1
FROM holdfast_job AS job
WHERE job.id {in :ids::uuid[]}
