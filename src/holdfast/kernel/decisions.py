"""What is to become of a job that somebody wants changed: decided from how it stands, while nobody can move it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from holdfast.kernel.errors import HoldfastError, NotAllowedError
from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.kernel.job import Job, Spec
from holdfast.kernel.lifecycle import Command, Lifecycle, Transition
from holdfast.kernel.move import Change, Move
from holdfast.kernel.settle import because
from holdfast.kernel.state import LEASED, Canonical

MODES = ("soft", "hard")


class Stands(NamedTuple):
    """A job, and what is decided by beside it; `flow_id` where it is a node."""

    job: Job
    table: Lifecycle
    flow_id: str | None
    now_ms: int


class Along(NamedTuple):
    """It moves along these rows. With `discards` what its attempt has made so far is forgotten."""

    path: tuple[Transition, ...]
    move: Move
    discards: bool = False


class AskOwner(NamedTuple):
    """Its worker is asked to stop: "soft: why"."""

    how: str


class Anew(NamedTuple):
    """A new job does what it was to do; a dead letter notes which."""

    spec: Spec


class WholeFlow(NamedTuple):
    """It is a flow, and all of its nodes are cancelled or resumed with it."""

    command: str
    reason: str
    hard: bool = False


class Stay(NamedTuple):
    """It stands as it should already."""


Decision = Along | AskOwner | Anew | WholeFlow | Stay
Decide = Callable[[Stands], Decision]
"""Refuses by raising NotAllowedError."""


class NotNowError(NotAllowedError):
    """The job is in no state for that, and its lifecycle has no row that could say so."""

    def __init__(self, job: Job, table: Lifecycle, command: str, remedy: str) -> None:
        super().__init__(table.name, str(table.state(job.state)), command, table.commands(job.state))
        self.job_id, self.message, self.remedy = job.id, f"job {job.id} is {self.state}", remedy
        self.args = (f"{self.message}; {remedy}",)


def cancel(reason: str, mode: str = "soft") -> Decide:
    """At once what no worker holds; the worker is asked (soft), or the job is taken from it (hard)."""
    if mode not in MODES:
        raise HoldfastError(f"mode is {mode!r}", field="mode", remedy='"soft" or "hard"')

    def decide(stands: Stands) -> Decision:
        job, table = stands.job, stands.table
        row = table.row(job.state, Command.CANCEL)
        if job.lifecycle == FLOW.name:
            return WholeFlow(Command.CANCEL, reason, mode == "hard")
        if job.state in LEASED and mode == "soft":
            return AskOwner(f"soft: {reason}")
        # A lifecycle that cleans up keeps until then what a run had made so far.
        discards = job.state in LEASED and table.find(Canonical.CANCELLED, Command.CLEAN) is None
        [move] = because(Change(table, (row,), "", [Move(job.id, job.attempt, reason=reason)]), reason).moves
        return Along((row,), move, discards)

    return decide


def resume(reason: str) -> Decide:
    """A cancelled job goes on, where its lifecycle has that."""

    def decide(stands: Stands) -> Decision:
        job, table = stands.job, stands.table
        if job.lifecycle == FLOW.name:
            table.row(job.state, Command.RESUME)
            return WholeFlow(Command.RESUME, reason)
        if stands.flow_id is not None:
            raise NotNowError(job, table, "resume", f"it goes on with its flow: holdfast flow resume {stands.flow_id}")
        return Along((table.row(job.state, Command.RESUME),), Move(job.id, job.attempt, reason=reason))

    return decide


def hasten(stands: Stands, reason: str) -> Decision:
    """A job that waits for its time becomes due, as its next attempt."""
    job, table = stands.job, stands.table
    if job.due_at_ms <= stands.now_ms:
        return Stay()
    row = table.find(job.state, Command.HASTEN)
    if row is None:
        raise NotNowError(job, table, "retry", f"jobs of {table.name} cannot be hastened: cancel it and submit anew")
    return Along((row,), Move(job.id, job.attempt, reason=reason))
