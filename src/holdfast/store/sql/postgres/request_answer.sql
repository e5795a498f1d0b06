-- What a request was answered, while that still counts.
SELECT answer FROM holdfast_op
WHERE op_id = :op_id
    AND expires_at_ms > coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
