-- A key passes from the job that was replaced to the one that replaces it.
UPDATE holdfast_key SET job_id = :job_id WHERE scope = :scope AND key = :key
