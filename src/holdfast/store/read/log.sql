-- Events by position behind one.
SELECT {event}
FROM holdfast_event
WHERE pos > :after
ORDER BY pos
LIMIT :limit
