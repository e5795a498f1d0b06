-- One schedule.
SELECT {schedule}
FROM holdfast_schedule
WHERE name = :name
