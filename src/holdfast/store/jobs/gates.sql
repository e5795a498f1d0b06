-- Gates as they were last said to be, and when the next start behind each is due.
SELECT {gate}
FROM holdfast_gate
WHERE name {in :names::text[]}
