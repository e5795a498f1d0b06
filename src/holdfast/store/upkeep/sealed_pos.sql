-- How far the log is sealed.
SELECT coalesce(max(last_pos), 0) FROM holdfast_seal
