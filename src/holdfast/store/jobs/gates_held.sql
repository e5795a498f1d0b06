-- How many jobs behind each of some gates somebody holds.
SELECT gate, count(*) FROM holdfast_job
WHERE gate <> '' AND lease_owner IS NOT NULL AND gate {in :names::text[]}
GROUP BY gate
