-- Remove what came out of one job, its digest kept; run for many rows at once.
UPDATE holdfast_rest SET outcome = NULL, outcome_digest = :outcome_digest WHERE id = :id
