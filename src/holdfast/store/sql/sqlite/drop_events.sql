-- Remove the events of jobs; the seals and the record of the purge account for them.
DELETE FROM holdfast_event WHERE job_id IN (SELECT value FROM json_each(:ids))
