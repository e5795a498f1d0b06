-- All schedules, by name.
SELECT {schedule}
FROM holdfast_schedule
ORDER BY name
