-- Record what retention removed, in the transaction that removes it.
INSERT INTO holdfast_purge (number, at_ms, kind, jobs, events, first_pos, last_pos, ranges, digest)
VALUES (:number, :at_ms, :kind, :jobs, :events, :first_pos, :last_pos, :ranges, :digest)
