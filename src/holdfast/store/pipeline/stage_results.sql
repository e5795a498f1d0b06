-- How the stages of one job ended, with what they produced.
SELECT name, result FROM holdfast_step WHERE job_id = :job_id AND substr(name, 1, 6) = 'stage:' ORDER BY number
