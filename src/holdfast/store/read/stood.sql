-- The rows of the last events of jobs, but for those that have had one alone.
SELECT id, pos FROM holdfast_jobs WHERE id {in :ids::uuid[]} AND version > 1
