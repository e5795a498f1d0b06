-- What is left of a row of the log.
UPDATE holdfast_log
SET ids = :ids, reasons = :reasons, causes = :causes, payloads = :payloads, payload_digests = :payload_digests,
    digests = :digests
WHERE pos = :pos
