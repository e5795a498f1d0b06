-- Some jobs, for the audit: where each stands, and as what it was submitted.
SELECT {job}, pos, first_due_at_ms, first_expires_at_ms
FROM holdfast_jobs
WHERE id {in :ids::uuid[]}
