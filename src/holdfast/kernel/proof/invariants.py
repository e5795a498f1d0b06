"""What must hold of every job. One implementation: audit, property tests and simulator all call it.

I1 every step is a row of the table · I2 events are dense from 1 · I3 each event starts where the last ended,
the row equals the replay, and the job stands in one place, which the log's rows lead back from · I4 (attempt,
rank) strictly grows, time never falls · I5 an owner if and only if leased, a fence is granted once · I6 a
worker's events carry the fence that it was granted · I7 a terminal state absorbs within its attempt · I8 at
most one success per attempt · I9 no success in a cancelled attempt · I10 tries stay within the budget · I11 one
live job per scope and key · I12 the feed is in order per job · I13 dead_lettered if and only if there is a dead
letter · I14 a join fires exactly once · I19 every seal verifies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from holdfast.kernel.event import Event
from holdfast.kernel.job import Job, spec_digest, text_digest
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.proof.replay import Replayed, Step, Steps, advance, steps_of
from holdfast.kernel.state import LEASED, OVER, SUCCESSFUL, Canonical


class Violation(NamedTuple):
    """One breach: which invariant, where, and what was found."""

    invariant: str
    job_id: str | None
    seq: int | None
    message: str

    def __str__(self) -> str:
        where = f"job {self.job_id}" if self.job_id else "log"
        return f"{self.invariant} {where}{f' event {self.seq}' if self.seq else ''}: {self.message}"


COMPARED = tuple(name for name in Replayed.__dataclass_fields__ if name in Job._fields and name != "outcome_digest")


class Inspector:
    """Checks jobs against their events; keeps each lifecycle's index between calls."""

    def __init__(self, lifecycles: Mapping[str, Lifecycle]) -> None:
        self._tables: dict[str, tuple[Lifecycle, Steps]] = {
            name: (table, steps_of(table)) for name, table in lifecycles.items()
        }

    def events(self, lifecycle: str, events: Sequence[Event]) -> tuple[Replayed | None, list[Violation]]:
        """What a job's events tell of it, if they are not too broken, and every breach of I1–I9 by them."""
        table, steps = self._tables[lifecycle]
        found: list[Violation] = []
        return _walk(table, steps, events, found), found

    def job(self, job: Job | None, events: Sequence[Event]) -> list[Violation]:
        """Every breach of I1–I10 by one job. `job` is None when its row is gone."""
        if job is None:
            message = f"{len(events)} events, but the job's row is gone"
            return [Violation("I3", events[0].job_id, None, message)]
        if not events:
            return [Violation("I3", job.id, None, "a row without events")]
        known = self._tables.get(job.lifecycle)
        if known is None:
            return [Violation("I1", job.id, None, f"unknown lifecycle {job.lifecycle!r}")]
        table, steps = known
        found: list[Violation] = []
        replayed = _walk(table, steps, events, found)
        if not job.state:
            found.append(Violation("I3", job.id, None, "it stands nowhere"))
        elif replayed is not None:
            _compare(table, job, events[0], replayed, found)
        return found


def _walk(table: Lifecycle, steps: Steps, events: Sequence[Event], found: list[Violation]) -> Replayed | None:
    """Follow the events; None when they are too broken for the row to be compared with them."""
    job = Replayed()
    at = last_rank = -1
    pos = 0
    state: str | None = None
    owner: str | None = None
    claimed = 0
    for number, event in enumerate(events, 1):
        if event.seq != number:
            found.append(Violation("I2", event.job_id, event.seq, f"event {number} is missing"))
            return None
        step = steps.get((event.from_state, event.to_state, event.type))
        if step is None:
            found.append(_no_row(table, event))
            return None
        if event.from_state != state:
            message = f"starts in {event.from_state}, the last ended in {state}"
            found.append(Violation("I3", event.job_id, number, message))
        if number == 1:
            job.created_at_ms = event.at_ms
        advance(job, event, step, table.claimable)
        before, state = state, event.to_state
        if event.attempt != job.attempt or (not step.opens and step.rank_to <= last_rank):
            found.append(_no_growth(event, job, step, last_rank, before))
        last_rank = step.rank_to
        if event.at_ms < at:
            found.append(Violation("I4", event.job_id, number, f"time falls from {at} to {event.at_ms}"))
        at = event.at_ms
        if event.pos < pos:
            message = f"at {event.pos} in the feed, the last at {pos}"
            found.append(Violation("I12", event.job_id, number, message))
        pos = event.pos
        if step.claims:
            if claimed == event.attempt:
                found.append(Violation("I5", event.job_id, number, f"fence {event.attempt} is granted twice"))
            claimed, owner = event.attempt, event.actor
        elif step.worker and event.actor != owner:
            message = f"by {event.actor}, but the fence was granted to {owner}"
            found.append(Violation("I6", event.job_id, number, message))
    return job


def _no_row(table: Lifecycle, event: Event) -> Violation:
    step = f"{event.from_state} → {event.to_state} ({event.type})"
    return Violation("I1", event.job_id, event.seq, f"{step} is no row of {table.name}")


def _no_growth(event: Event, job: Replayed, step: Step, last_rank: int, before: str | None) -> Violation:
    message = f"attempt {event.attempt}, expected {job.attempt}"
    invariant = "I4"
    if event.attempt == job.attempt:
        message = f"rank {last_rank} is followed by {step.rank_to} in attempt {event.attempt}"
        if last_rank >= OVER:
            invariant = _after_the_end(before, event.to_state)
    return Violation(invariant, event.job_id, event.seq, message)


def _after_the_end(ended: str | None, then: str) -> str:
    if then not in SUCCESSFUL:
        return "I7"
    if ended in SUCCESSFUL:
        return "I8"
    return "I9" if ended == Canonical.CANCELLED else "I7"


def _compare(table: Lifecycle, job: Job, first: Event, replay: Replayed, found: list[Violation]) -> None:
    """The row against the replay, and its bodies against the digests that the events hold."""
    if (
        job.state != replay.state
        or job.version != replay.version
        or job.attempt != replay.attempt
        or job.tries != replay.tries
        or job.losses != replay.losses
        or (job.due_at_ms != replay.due_at_ms and replay.due_at_ms is not None)
        or job.lease_owner != replay.lease_owner
        or job.created_at_ms != replay.created_at_ms
        or job.changed_at_ms != replay.changed_at_ms
        or job.started_at_ms != replay.started_at_ms
        or job.finished_at_ms != replay.finished_at_ms
    ):
        for name in COMPARED:
            row, replayed = getattr(job, name), getattr(replay, name)
            if row != replayed and not (name == "due_at_ms" and replayed is None):
                found.append(Violation("I3", job.id, None, f"{name} is {row!r}, its events say {replayed!r}"))
    leased = job.state in LEASED
    if leased != (job.lease_owner is not None) or leased != (job.lease_until_ms is not None):
        found.append(Violation("I5", job.id, None, f"{job.state}, leased to {job.lease_owner}"))
    if job.ready != (job.state in table.claimable):
        found.append(Violation("I3", job.id, None, f"ready is {job.ready} in {job.state}"))
    if not 0 <= job.tries <= job.max_tries:
        found.append(Violation("I10", job.id, None, f"{job.tries} tries of {job.max_tries}"))
    expires = expire_after(table, job, replay)
    payload = text_digest(job.payload, job.payload_digest)
    if (job.payload is not None and job.payload_digest is not None) or (
        job.outcome is not None and job.outcome_digest is not None
    ):
        found.append(Violation("I3", job.id, None, "the digest of a purged body stands beside the body"))
    if first.digest != spec_digest(job, expire_after_ms=expires, payload=payload):
        found.append(Violation("I3", job.id, 1, "what was submitted is not what the row says now"))
    if text_digest(job.outcome, job.outcome_digest) != replay.outcome_digest:
        found.append(Violation("I3", job.id, None, "the outcome is not the one that was recorded"))


def expire_after(table: Lifecycle, job: Job, replay: Replayed) -> int | None:
    """The expiry as it was submitted: a stale limit counts from the last change, all else while the job lives."""
    if job.expires_at_ms is None:
        return None
    if table.policies.stale_after_ms is not None:
        return job.expires_at_ms - job.changed_at_ms
    return job.expires_at_ms - job.created_at_ms - replay.ended_for_ms
