-- What a worker must know of the jobs that it runs: whose they are by now, and whether they should stop.
SELECT id, state, attempt, cancel_requested FROM holdfast_jobs WHERE id {in :ids::uuid[]}
