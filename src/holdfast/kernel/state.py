"""Canonical states, their rank, and a lifecycle's own name for each."""

from __future__ import annotations

from enum import StrEnum


class Canonical(StrEnum):
    """The states that every lifecycle draws from. Within one attempt a job's rank only grows."""

    WAITING = "waiting"
    QUEUED = "queued"
    RETRY_PENDING = "retry_pending"
    ASSIGNED = "assigned"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    SKIPPED = "skipped"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    TIMED_OUT = "timed_out"
    DEAD_LETTERED = "dead_lettered"
    CLEANING = "cleaning"
    CLEANED = "cleaned"

    @property
    def rank(self) -> int:
        return RANK[self]


RANK: dict[str, int] = {
    Canonical.WAITING: 0,
    Canonical.QUEUED: 1,
    Canonical.RETRY_PENDING: 1,
    Canonical.ASSIGNED: 2,
    Canonical.RUNNING: 3,
    Canonical.SUCCEEDED: 4,
    Canonical.PARTIAL: 4,
    Canonical.SKIPPED: 4,
    Canonical.FAILED: 4,
    Canonical.CANCELLED: 4,
    Canonical.EXPIRED: 4,
    Canonical.TIMED_OUT: 4,
    Canonical.DEAD_LETTERED: 4,
    Canonical.CLEANING: 5,
    Canonical.CLEANED: 6,
}

OVER = 4
"""From this rank on the job's outcome is settled: what is left is tidying up."""

LEASED = frozenset({Canonical.ASSIGNED, Canonical.RUNNING})
SUCCESSFUL = frozenset({Canonical.SUCCEEDED, Canonical.PARTIAL, Canonical.SKIPPED})
NOT_EXECUTED = frozenset({Canonical.SKIPPED, Canonical.CANCELLED})
TERMINAL = frozenset(state for state in Canonical if state.rank == OVER) | {Canonical.CLEANED}


class State(str):
    """A state as its lifecycle spells it: equal to its label, and knowing its canonical state."""

    __slots__ = ("canonical",)
    canonical: Canonical

    def __new__(cls, label: str, canonical: Canonical | str) -> State:
        self = super().__new__(cls, label)
        self.canonical = Canonical(canonical)
        return self

    def __reduce__(self) -> tuple[type[State], tuple[str, str]]:
        return State, (str(self), self.canonical.value)

    def __repr__(self) -> str:
        return f"State({str(self)!r}, {self.canonical.value!r})"

    @property
    def label(self) -> str:
        return str(self)

    def is_terminal(self) -> bool:
        """No further work will be done under this attempt."""
        return self.canonical in TERMINAL

    def is_successful_terminal(self) -> bool:
        """Ended well. A skipped job did: not running it was the right thing."""
        return self.canonical in SUCCESSFUL

    def was_executed(self) -> bool:
        """Ended, and neither skipped nor cancelled."""
        return self.canonical in TERMINAL and self.canonical not in NOT_EXECUTED
