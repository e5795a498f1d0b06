"""The only way a job changes: a path of rows, applied to jobs that stand where the path begins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from holdfast.kernel.job import Job, NewDeadLetter, Spec
from holdfast.kernel.lifecycle import Lifecycle, Transition, Tries
from holdfast.kernel.state import LEASED, OVER, TERMINAL, Canonical


class Follow(NamedTuple):
    """What a node of a flow says, at its end, of those that wait for it.

    `cut` names the children that its branch left out. `items`, where it ran over a list, are the jobs that take its
    place for all who wait for it; None where it did not.
    """

    not_taken: tuple[str, ...] = ()
    items: tuple[Spec, ...] | None = None


class Move(NamedTuple):
    """One job's part in a change: which job, under which fence, and what is recorded with it.

    `payload` is the event's JSON text. It says `delay_ms` when there is a delay: a replay knows events alone.
    """

    job_id: str
    attempt: int
    delay_ms: int = 0
    reason: str | None = None
    cause: str | None = None
    payload: str | None = None
    outcome: str | None = None
    dead: NewDeadLetter | None = None
    follow: Follow | None = None


class Change(NamedTuple):
    """A path of rows of one lifecycle, and the moves that it is applied to.

    With an `owner` the change is a worker's: it holds only for jobs that this owner has under a lease that
    has not run out. Without one it is the engine's or a person's.
    """

    lifecycle: Lifecycle
    path: tuple[Transition, ...]
    actor: str
    moves: list[Move]
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """What a path does to the columns of a job, worked out once per path."""

    source: str
    target: str
    steps: int
    opens: int
    tries_delta: int
    tries_reset: bool
    losses: int
    ready: bool
    leases: bool
    keeps_lease: bool
    starts: bool
    finishes: bool
    reopens: bool
    stale_after_ms: int | None


@lru_cache(maxsize=1024)
def _effect(path: tuple[Transition, ...], claimable: frozenset[str], stale_after_ms: int | None) -> Effect:
    first, last = path[0], path[-1]
    delta = sum({Tries.COUNT: 1, Tries.REFUND: -1}.get(row.tries, 0) for row in path)
    over = last.target.rank >= OVER
    return Effect(
        source=first.source.value,
        target=last.target.value,
        steps=len(path),
        opens=sum(row.opens_attempt for row in path),
        tries_delta=delta,
        tries_reset=any(row.tries is Tries.RESET for row in path),
        losses=sum(row.counts_loss for row in path),
        ready=last.target.value in claimable,
        leases=any(row.command in ("claim", "take_over") for row in path),
        keeps_lease=last.target in LEASED,
        starts=any(row.target is Canonical.RUNNING for row in path),
        finishes=over and first.source.rank < OVER and last.target in TERMINAL,
        reopens=not over and first.source.rank >= OVER,
        stale_after_ms=stale_after_ms,
    )


def effect_of(lifecycle: Lifecycle, path: tuple[Transition, ...]) -> Effect:
    return _effect(path, lifecycle.claimable, lifecycle.policies.stale_after_ms)


def move(
    lifecycle: Lifecycle,
    jobs: Iterable[Job],
    command: str,
    *,
    actor: str,
    owner: str | None = None,
    reason: str | None = None,
    cause: str | None = None,
    delay_ms: int = 0,
) -> list[Change]:
    """Apply one command to many jobs: a Change for every row that it takes.

    Raises NotAllowedError for a job from whose state the command has no row.
    """
    groups: dict[str, Change] = {}
    payload = f'{{"delay_ms":{delay_ms}}}' if delay_ms else None
    for job in jobs:
        change = groups.get(job.state)
        if change is None:
            path = (lifecycle.row(job.state, command),)
            change = groups[job.state] = Change(lifecycle, path, actor, [], owner)
        change.moves.append(Move(job.id, job.attempt, delay_ms, reason, cause, payload))
    return list(groups.values())
