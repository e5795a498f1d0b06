-- A row of the log.
INSERT INTO holdfast_log (
    pos, lifecycle, path, at_ms, times, actor, ids, prevs, attempts, versions, reasons, causes, payloads, digests
)
VALUES (
    :pos, :lifecycle, :path, :at_ms, :times, :actor, :ids, :prevs, :attempts, :versions, :reasons, :causes, :payloads, :digests
)
