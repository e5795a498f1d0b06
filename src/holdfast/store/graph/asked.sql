-- Those of some jobs that were asked to stop, and in which words.
SELECT id, cancel_requested FROM holdfast_jobs WHERE id {in :ids::uuid[]} AND cancel_requested IS NOT NULL
