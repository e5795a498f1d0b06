-- Files are names for bytes, which lie beside them by their digest: the same bytes once, in chunks.

-- Bytes by their digest.
CREATE TABLE holdfast_blob (
    digest text NOT NULL PRIMARY KEY, -- SHA-256, as hexadecimal digits
    put_id {uuid} NOT NULL, -- the put whose chunks they are
    size {bigint} NOT NULL, -- how many bytes
    at_ms {bigint} NOT NULL -- when they were last put: what is young is not swept
) {strict};

-- Puts of more than one chunk, as long as they are under way.
CREATE TABLE holdfast_put (
    id {uuid} NOT NULL PRIMARY KEY,
    at_ms {bigint} NOT NULL -- when it last went on
) {strict};

-- The bytes themselves.
CREATE TABLE holdfast_chunk (
    put_id {uuid} NOT NULL,
    start {bigint} NOT NULL, -- how many bytes stand before it
    size integer NOT NULL, -- how many bytes it is
    data {bytea} NOT NULL, -- these bytes, compressed where there are fewer
    PRIMARY KEY (put_id, start)
) {strict};
{postgres -- What is put there is compressed already where that pays.
ALTER TABLE holdfast_chunk ALTER COLUMN data SET STORAGE EXTERNAL;
}
ALTER TABLE holdfast_artifact RENAME TO holdfast_artifact_data;
{postgres ALTER INDEX holdfast_artifact_pkey RENAME TO holdfast_artifact_data_pkey;
}
-- Files that jobs left: names for bytes.
CREATE TABLE holdfast_artifact (
    job_id {uuid} NOT NULL,
    name text NOT NULL,
    attempt integer NOT NULL,
    at_ms {bigint} NOT NULL,
    digest text NOT NULL, -- of its bytes
    size {bigint} NOT NULL, -- how many these are
    PRIMARY KEY (job_id, name)
) {strict};
-- Whether bytes still have a name.
CREATE INDEX holdfast_artifact_digest ON holdfast_artifact (digest);

INSERT INTO holdfast_artifact (job_id, name, attempt, at_ms, digest, size)
SELECT job_id, name, attempt, at_ms, {sqlite sha256(data)} {postgres encode(sha256(data), 'hex')}, length(data)
FROM holdfast_artifact_data;
INSERT INTO holdfast_blob (digest, put_id, size, at_ms)
SELECT digest, {sqlite digest} {postgres gen_random_uuid()}, max(size), max(at_ms) FROM holdfast_artifact GROUP BY digest;
INSERT INTO holdfast_chunk (put_id, start, size, data)
SELECT {postgres DISTINCT ON (b.put_id)} b.put_id, 0, b.size, d.data
FROM holdfast_blob AS b JOIN holdfast_artifact AS a ON a.digest = b.digest
JOIN holdfast_artifact_data AS d ON d.job_id = a.job_id AND d.name = a.name
WHERE b.size > 0 {sqlite GROUP BY b.put_id};
DROP TABLE holdfast_artifact_data;
