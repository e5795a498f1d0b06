-- A job that somebody runs; run for many rows at once.
INSERT INTO holdfast_held (
    id, attempt, version, tries, losses, due_at_ms, started_at_ms, expires_at_ms, outcome, asked, queue, gate, owner,
    until_ms, lease_ms, lifecycle, state, changed_at_ms, pos
)
VALUES (
    :id, :attempt, :version, :tries, :losses, :due_at_ms, :started_at_ms, :expires_at_ms, :outcome, :asked, :queue, :gate,
    :owner, :until_ms, :lease_ms, :lifecycle, :state, :changed_at_ms, :pos
)
