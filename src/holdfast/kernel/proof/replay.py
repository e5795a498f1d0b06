"""What a job must look like, worked out from its events alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from holdfast.kernel.event import Event
from holdfast.kernel.lifecycle import Lifecycle, Tries
from holdfast.kernel.state import LEASED, OVER, RANK, Canonical


class Step(NamedTuple):
    """What one kind of event does, whichever of the equal rows it came by."""

    opens: int
    tries: Tries
    losses: int
    claims: bool
    worker: bool
    rank_from: int
    rank_to: int


Steps = dict[tuple[str | None, str, str], Step]


@dataclass(slots=True)
class Replayed:
    """The columns of a job that its events determine."""

    state: str = ""
    attempt: int = 0
    version: int = 0
    tries: int = 0
    losses: int = 0
    due_at_ms: int | None = 0
    """None when the event that said it has lost its payload to retention."""
    lease_owner: str | None = None
    created_at_ms: int = 0
    changed_at_ms: int = 0
    started_at_ms: int | None = None
    finished_at_ms: int | None = None
    outcome_digest: bytes | None = None
    ended_for_ms: int = 0
    """How long it lay ended before it was brought back: its expiry waited meanwhile."""


def steps_of(lifecycle: Lifecycle) -> Steps:
    """The table, indexed by what an event says of itself: from, to and type."""
    steps: Steps = {}
    for row in lifecycle.transitions:
        steps[row.source.value, row.target.value, row.event] = Step(
            opens=int(row.opens_attempt),
            tries=row.tries,
            losses=int(row.counts_loss),
            claims=row.command in ("claim", "take_over"),
            worker=row.source in LEASED and row.command in ("start", "succeed", "partial", "retry", "hand_back"),
            rank_from=RANK[row.source],
            rank_to=RANK[row.target],
        )
    for state in lifecycle.initial:
        first = Step(1, Tries.KEEP, 0, False, False, -1, RANK[state])
        steps[None, state.value, lifecycle.submit_event] = first
    return steps


def advance(job: Replayed, event: Event, step: Step, claimable: frozenset[str]) -> None:
    """Apply one event to the replayed job, in place."""
    target = event.to_state
    job.state = target
    job.version += 1
    job.attempt += step.opens
    if step.tries is Tries.COUNT:
        job.tries += 1
    elif step.tries is Tries.REFUND:
        job.tries -= 1
    elif step.tries is Tries.RESET:
        job.tries = 0
    job.losses += step.losses
    job.changed_at_ms = event.at_ms
    if step.claims:
        job.lease_owner = event.actor
    elif target not in LEASED:
        job.lease_owner = None
    if target in claimable or step.rank_from < 0:
        job.due_at_ms = due_of(event)
    if target == Canonical.RUNNING:
        job.started_at_ms = event.at_ms
    if step.rank_to == OVER:
        job.finished_at_ms = event.at_ms
    elif step.rank_to < OVER and step.rank_from >= OVER:
        job.ended_for_ms += event.at_ms - (job.finished_at_ms or event.at_ms)
        job.finished_at_ms = None
    if step.rank_from >= 0 and (event.digest is not None or step.rank_to == OVER):
        job.outcome_digest = event.digest


def payload_of(event: Event) -> dict[str, Any]:
    """What an event's payload says by name; nothing when it has none, or one that nobody of ours has written."""
    try:
        payload = json.loads(event.payload or "{}")
    except ValueError:
        return {}
    return payload if isinstance(payload, dict) else {}


def due_of(event: Event) -> int | None:
    """When a job is due that an event lets be claimed; None when the event has lost its payload to retention."""
    if event.payload is None:
        return event.at_ms if event.payload_digest is None else None
    payload = payload_of(event)
    delay = payload.get("delay_ms")
    due = payload.get("due_at_ms", event.at_ms + (delay if isinstance(delay, int) else 0))
    return due if isinstance(due, int) else event.at_ms


def replay(lifecycle: Lifecycle, events: Sequence[Event]) -> Replayed:
    """The job as its events tell it. The events must be rows of the table: see `invariants`."""
    steps = steps_of(lifecycle)
    job = Replayed()
    for event in events:
        if event.from_state is None:
            job.created_at_ms = event.at_ms
        advance(job, event, steps[event.from_state, event.to_state, event.type], lifecycle.claimable)
    return job
