-- What the first request under this op_id was answered.
SELECT answer FROM holdfast_op WHERE op_id = :op_id
