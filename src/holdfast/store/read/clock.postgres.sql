-- The time that decides: the database's own, not the transaction's start.
SELECT {now} AS now_ms
