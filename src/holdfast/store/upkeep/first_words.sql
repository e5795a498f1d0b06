-- What the first events of jobs have to say.
SELECT id, event_payload FROM holdfast_job WHERE id {in :ids::uuid[]} AND event_payload IS NOT NULL
