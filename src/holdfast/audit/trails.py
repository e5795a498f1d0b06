"""What must hold of a job with its events and its place: the invariants, and what only the tables could break."""

from __future__ import annotations

from holdfast.kernel.job import spec_digest, text_digest
from holdfast.kernel.proof.chain import breaks
from holdfast.kernel.proof.invariants import Inspector, Violation
from holdfast.kernel.proof.replay import due_of
from holdfast.store.port import Trail


class TrailInspector(Inspector):
    """Checks jobs with their places; keeps each lifecycle's index between calls."""

    def breaches(self, trail: Trail) -> list[Violation]:
        """Every breach of I1–I10 by one job."""
        found = self.job(trail.job, trail.events)
        if trail.events and trail.stands_at is not None:
            texts = breaks(trail.events[0].pos, trail.links, trail.stands_at) + _as_submitted(trail)
            found += [Violation("I3", trail.job.id, None, text) for text in texts]
        return found


def _as_submitted(trail: Trail) -> list[str]:
    """What was submitted and may have changed since is told by the first event."""
    job, first, found = trail.job, trail.events[0], []
    due = due_of(first)
    if due is not None and trail.due_at_ms != due:
        found.append(f"due_at_ms was submitted as {trail.due_at_ms!r}, its first event says {due!r}")
    if trail.expires_at_ms not in (None, job.expires_at_ms):
        after = trail.expires_at_ms - job.created_at_ms
        payload = text_digest(job.payload, job.payload_digest)
        if first.digest != spec_digest(job, expire_after_ms=after, payload=payload):
            found.append("expires_at_ms was not submitted as the row says now")
    return found
