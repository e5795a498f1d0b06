-- Whether a deadline has passed that has moved nothing up yet.
SELECT 1 FROM holdfast_deadline WHERE at_ms <= :now_ms LIMIT 1
