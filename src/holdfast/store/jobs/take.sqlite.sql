-- What was claimed leaves its lane: all up to the last of it.
DELETE FROM holdfast_ready
WHERE queue = :queue AND lifecycle = :lifecycle AND state = :source AND turn = :turn AND gate = :gate
    AND (due_at_ms, id) <= (:due_at_ms, :id)
