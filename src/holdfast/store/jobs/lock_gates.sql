-- Gates as they stand, locked: who counts what runs behind a gate must be the only one. Others pass over it.
SELECT {gate}, {now} AS now_ms
FROM holdfast_gate
WHERE name {in :names::text[]}
ORDER BY name
{lock skip locked}
