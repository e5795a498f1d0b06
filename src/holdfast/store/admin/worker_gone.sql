-- A worker that has ended, and any that was not seen since a time, leave the list.
DELETE FROM holdfast_worker WHERE owner = :owner OR seen_at_ms < :before_ms
