-- Jobs that can be claimed, or are held, by lifecycle and state, as many as the cap says.
SELECT lifecycle, state, count(*)
FROM (SELECT lifecycle, state FROM holdfast_ready LIMIT :cap) AS waiting
GROUP BY lifecycle, state
UNION ALL
SELECT lifecycle, state, count(*)
FROM holdfast_member
GROUP BY lifecycle, state
