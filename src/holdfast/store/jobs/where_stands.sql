-- Where one job stands, for a change that is made in the same transaction.
SELECT lifecycle, state, attempt FROM holdfast_jobs WHERE id = :id
