-- How many jobs behind each of some gates somebody holds.
SELECT gate, count(*) FROM holdfast_member
WHERE gate <> '' AND gate {in :names::text[]}
GROUP BY gate
