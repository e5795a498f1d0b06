-- The job that a key was last given to.
SELECT job_id FROM holdfast_key WHERE scope = :scope AND key = :key
