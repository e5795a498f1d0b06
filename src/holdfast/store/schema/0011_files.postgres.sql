-- Bytes by their digest, in chunks; an artifact is a name for them.
CREATE TABLE holdfast_blob (
    digest text NOT NULL PRIMARY KEY,
    put_id uuid NOT NULL,
    size bigint NOT NULL,
    at_ms bigint NOT NULL
);

-- Puts of more than one chunk, as long as they are under way.
CREATE TABLE holdfast_put (
    id uuid NOT NULL PRIMARY KEY,
    at_ms bigint NOT NULL
);

CREATE TABLE holdfast_chunk (
    put_id uuid NOT NULL,
    start bigint NOT NULL,
    size integer NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (put_id, start)
);
-- What is put there is compressed already where that pays.
ALTER TABLE holdfast_chunk ALTER COLUMN data SET STORAGE EXTERNAL;

ALTER TABLE holdfast_artifact RENAME TO holdfast_artifact_data;
ALTER INDEX holdfast_artifact_pkey RENAME TO holdfast_artifact_data_pkey;
CREATE TABLE holdfast_artifact (
    job_id uuid NOT NULL,
    name text NOT NULL,
    attempt integer NOT NULL,
    at_ms bigint NOT NULL,
    digest text NOT NULL,
    size bigint NOT NULL,
    PRIMARY KEY (job_id, name)
);
CREATE INDEX holdfast_artifact_digest ON holdfast_artifact (digest);

INSERT INTO holdfast_artifact (job_id, name, attempt, at_ms, digest, size)
SELECT job_id, name, attempt, at_ms, encode(sha256(data), 'hex'), length(data) FROM holdfast_artifact_data;
INSERT INTO holdfast_blob (digest, put_id, size, at_ms)
SELECT digest, gen_random_uuid(), max(size), max(at_ms) FROM holdfast_artifact GROUP BY digest;
INSERT INTO holdfast_chunk (put_id, start, size, data)
SELECT DISTINCT ON (b.put_id) b.put_id, 0, b.size, d.data
FROM holdfast_blob AS b JOIN holdfast_artifact AS a ON a.digest = b.digest
JOIN holdfast_artifact_data AS d ON d.job_id = a.job_id AND d.name = a.name
WHERE b.size > 0;
DROP TABLE holdfast_artifact_data;
