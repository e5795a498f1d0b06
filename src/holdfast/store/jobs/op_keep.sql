-- Keep the answer for a repeat.
UPDATE holdfast_op SET answer = :answer WHERE op_id = :op_id
