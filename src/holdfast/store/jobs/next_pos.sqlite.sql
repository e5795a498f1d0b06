-- The next row's place in the log. What was removed was sealed before: no place is given out twice.
SELECT
    max(
        coalesce((SELECT max(pos) FROM holdfast_log), 0),
        coalesce((SELECT max(pos) FROM holdfast_job), 0),
        coalesce((SELECT max(last_pos) FROM holdfast_seal), 0)
    ) / 4096 * 4096 + 4096
