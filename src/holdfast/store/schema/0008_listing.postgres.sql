-- Jobs of one parent, correlation or key by id, so that a page of them is a stretch of the index and sorts nothing.
DROP INDEX holdfast_job_correlation;
DROP INDEX holdfast_job_parent;
DROP INDEX holdfast_job_key;
CREATE INDEX holdfast_job_correlation ON holdfast_job (correlation_id, id) WHERE correlation_id IS NOT NULL;
CREATE INDEX holdfast_job_parent ON holdfast_job (parent_id, id) WHERE parent_id IS NOT NULL;
CREATE INDEX holdfast_job_key ON holdfast_job (key_scope, key, id) WHERE key_scope IS NOT NULL;
