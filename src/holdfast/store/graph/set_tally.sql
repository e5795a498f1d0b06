-- Put down anew how the edges into a node stand; run for many rows at once.
UPDATE holdfast_node SET taken = :taken, dead = :dead, broken = :broken WHERE job_id = :job_id
