-- Bytes by their digest, in chunks; an artifact is a name for them.
CREATE TABLE holdfast_blob (
    digest text NOT NULL PRIMARY KEY,
    put_id text NOT NULL,
    size integer NOT NULL,
    at_ms integer NOT NULL
) STRICT;

-- Puts of more than one chunk, as long as they are under way.
CREATE TABLE holdfast_put (
    id text NOT NULL PRIMARY KEY,
    at_ms integer NOT NULL
) STRICT;

CREATE TABLE holdfast_chunk (
    put_id text NOT NULL,
    start integer NOT NULL,
    size integer NOT NULL,
    data blob NOT NULL,
    PRIMARY KEY (put_id, start)
) STRICT;

ALTER TABLE holdfast_artifact RENAME TO holdfast_artifact_data;
CREATE TABLE holdfast_artifact (
    job_id text NOT NULL,
    name text NOT NULL,
    attempt integer NOT NULL,
    at_ms integer NOT NULL,
    digest text NOT NULL,
    size integer NOT NULL,
    PRIMARY KEY (job_id, name)
) STRICT;
CREATE INDEX holdfast_artifact_digest ON holdfast_artifact (digest);

INSERT INTO holdfast_artifact (job_id, name, attempt, at_ms, digest, size)
SELECT job_id, name, attempt, at_ms, sha256(data), length(data) FROM holdfast_artifact_data;
INSERT INTO holdfast_blob (digest, put_id, size, at_ms)
SELECT digest, digest, max(size), max(at_ms) FROM holdfast_artifact GROUP BY digest;
INSERT INTO holdfast_chunk (put_id, start, size, data)
SELECT b.put_id, 0, b.size, d.data
FROM holdfast_blob AS b JOIN holdfast_artifact AS a ON a.digest = b.digest
JOIN holdfast_artifact_data AS d ON d.job_id = a.job_id AND d.name = a.name
WHERE b.size > 0
GROUP BY b.put_id;
DROP TABLE holdfast_artifact_data;
