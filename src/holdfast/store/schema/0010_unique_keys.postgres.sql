-- The keys of these end in a job's id: no two jobs have equal ones, and to look for some costs every write.
ALTER INDEX holdfast_job_pkey SET (deduplicate_items = off);
ALTER INDEX holdfast_job_ready SET (deduplicate_items = off);
ALTER INDEX holdfast_job_state SET (deduplicate_items = off);
ALTER INDEX holdfast_job_task SET (deduplicate_items = off);
ALTER INDEX holdfast_job_correlation SET (deduplicate_items = off);
ALTER INDEX holdfast_job_parent SET (deduplicate_items = off);
ALTER INDEX holdfast_job_key SET (deduplicate_items = off);
