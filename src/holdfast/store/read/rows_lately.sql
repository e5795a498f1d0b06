-- Rows of the log since a time that have a step of one type, oldest first. First events have no index by time: what was
-- written a minute before tells from where on to look.
SELECT {row}
FROM holdfast_row
WHERE at_ms >= :since_ms AND path LIKE '%[' || {quoted :type::text} || ',%'
    AND pos > coalesce((SELECT pos FROM holdfast_log WHERE at_ms < :since_ms - 60000 ORDER BY at_ms DESC LIMIT 1), -1)
ORDER BY at_ms
LIMIT :limit
