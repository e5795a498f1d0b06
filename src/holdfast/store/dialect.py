"""What the two databases do in ways of their own: the few hot statements. All else is shared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Transition
from holdfast.kernel.move import Change, Effect
from holdfast.store.port import Lease, Signal
from holdfast.store.script import Script


class NewJob(NamedTuple):
    """A job to create, with its first event: the order is the order of the statement's columns."""

    id: str
    lifecycle: str
    task: str
    queue: str
    priority: int
    state: str
    ready: bool
    max_tries: int
    lease_ms: int
    delay_ms: int
    due_at_ms: int | None
    expire_after_ms: int | None
    keep_until_ms: int | None
    key_scope: str | None
    key: str | None
    correlation_id: str | None
    trace_id: str | None
    parent_id: str | None
    tags: str | None
    options: str | None
    payload: str | None
    event_type: str
    actor: str
    reason: str | None
    cause: str | None
    event_payload: str | None
    digest: bytes


class Lane(NamedTuple):
    """Jobs that are claimed alike: one queue, lifecycle, state and priority."""

    queue: str
    lifecycle: str
    state: str
    priority: int


class Floor(NamedTuple):
    """Where the last claim of a lane ended; the next one starts behind it."""

    due_at_ms: int
    id: str


START = Floor(-(1 << 62), "00000000-0000-0000-0000-000000000000")


def of_effect(effect: Effect) -> dict[str, Any]:
    """What a path does to the columns of a job, as the parameters of the statement that applies it."""
    return {
        "source": effect.source,
        "target": effect.target,
        "steps": effect.steps,
        "opens": effect.opens,
        "tries_reset": effect.tries_reset,
        "tries_delta": effect.tries_delta,
        "losses": effect.losses,
        "ready": effect.ready,
        "keeps_lease": effect.keeps_lease,
        "starts": effect.starts,
        "finishes": effect.finishes,
        "reopens": effect.reopens,
        "stale_after_ms": effect.stale_after_ms,
    }


class Dialect(Protocol):
    """The hot statements as scripts, and how a list is handed to a statement."""

    name: str

    def now(self) -> int | None:
        """The time for a statement; None when the database's own clock decides."""
        ...

    def array(self, values: Sequence[Any]) -> Any: ...

    def leases(self, leases: Sequence[Lease]) -> dict[str, Any]:
        """Leases as the parameters of a statement."""
        ...

    def signal_row(self, signal: Signal, ttl_ms: int) -> tuple[Any, ...]: ...

    def create(self, jobs: Sequence[NewJob]) -> Script[None]: ...

    def hold_keys(
        self, keys: Sequence[tuple[str, str, str]], hold: str, window_ms: int | None
    ) -> Script[dict[tuple[str, str], str]]:
        """(scope, key) → the id of the job that holds it now, for (scope, key, job id) that want it."""
        ...

    def claim(
        self, lane: Lane, floor: Floor, path: tuple[Transition, ...], effect: Effect, limit: int, owner: str
    ) -> Script[list[Job]]: ...

    def take_over(
        self,
        row: Transition,
        effect: Effect,
        lifecycle: str,
        queues: Sequence[str],
        budget: int,
        limit: int,
        owner: str,
    ) -> Script[list[Job]]: ...

    def apply(self, change: Change, effect: Effect) -> Script[dict[str, int]]:
        """Job id → new version, of the moves that took effect."""
        ...

    def renew(self, owner: str, leases: Sequence[Lease], beat: bool, ttl_ms: int) -> Script[set[str]]:
        """The ids of the leases that were extended."""
        ...
