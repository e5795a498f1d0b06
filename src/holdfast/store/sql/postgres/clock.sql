-- The time that decides: the database's own, not the transaction's start.
SELECT coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now_ms
