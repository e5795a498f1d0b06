-- What a request was answered, while that still counts.
SELECT answer FROM holdfast_op WHERE op_id = :op_id AND expires_at_ms > {now}
