"""Where attempts are run: what a worker asks of a place, and what it hears of a run there.

A task's work names its executor. An executor knows neither leases nor retries nor the store: it is given a Run, says
what came of it, and the worker does the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol

from holdfast.kernel.classify import Classifier
from holdfast.kernel.job import Failure, Job
from holdfast.kernel.outcome import Notes, Outcome
from holdfast.tasks.context import AsyncLink
from holdfast.tasks.registry import TaskDef


class Stop(StrEnum):
    SOFT = "soft"
    """The run is told; it ends when it likes to."""
    HARD = "hard"
    """The run is ended, or left behind where that cannot be done. What still comes of it counts for nothing."""


class Words(NamedTuple):
    """What a run has said since it was last asked."""

    lines: Sequence[str] = ()
    """Of its log, each a JSON text."""
    progress: str | None = None
    """How far it is, as JSON text."""


QUIET = Words()


class Crashed(NamedTuple):
    """The place of a run died, and not the work: the job counts as lost, and its work as not having failed."""

    failure: Failure


class JobLink(AsyncLink, Protocol):
    """What a run keeps with its job. Every write is under the job's fence, and LeaseConflictError once it is lost."""

    async def load_checkpoint(self) -> str | None:
        """What an earlier attempt kept last."""

    async def steps(self) -> list[str]:
        """The names of the steps that were done, in the order in which they were."""

    async def step_undone(self, name: str) -> None:
        """Put on record that a step was compensated."""


@dataclass(slots=True, eq=False)
class Run:
    """One attempt at a job."""

    job: Job
    task: TaskDef
    links: Callable[[Job], JobLink]
    runner: asyncio.Task[Any] | None
    """Who awaits its outcome: interrupted, where the work runs there, when it is stopped HARD."""

    @property
    def link(self) -> JobLink:
        """Made when it is wanted: most short runs keep nothing."""
        return self.links(self.job)

    @property
    def owner(self) -> str:
        """The worker that has the job's lease."""
        return self.job.lease_owner or ""


class Handle(Protocol):
    """One run, from its start to its end. All but `outcome` may be called at any time, and never wait."""

    def poll(self) -> Words:
        """What is new since the last call."""

    def notes(self) -> Notes:
        """What is to be kept beside the outcome, as it stands."""

    def cancel(self, how: Stop, asked: str | None = None) -> None:
        """Stop the run; `asked` are the words of a soft request, as the job has them. More than once is as once."""

    async def outcome(self) -> Outcome | Crashed:
        """What the run ended with, whatever its work raised. Awaited once, right after the start: work may begin here.

        Once it is stopped HARD it ends within a moment: with anything, or with CancelledError, and its runner may be
        cancelled then. Only work that holds the runner's loop, or swallows the interruption, may take longer.
        """


class Executor(Protocol):
    """A kind of place where works run. It lives in one event loop, from its first run to its close."""

    reach: Literal["process", "host", "cluster"]
    """From where its runs are found again when the worker's process dies: from inside of it alone, or from others."""
    capacity: int
    """So many runs go on side by side. A start beyond that waits for its turn."""

    async def start(self, run: Run) -> Handle:
        """Begin a run. What it raises is a failure of the run, and is classified as if its work had raised it."""

    async def adopt(self, run: Run, since: int) -> Handle | None:
        """Find the run of this job that attempt `since` began and whose worker was lost; None when it is not there.

        It goes on under the run's own attempt. Nothing is begun: None has it started anew, as a run that was lost.
        """

    async def close(self, grace_s: float) -> None:
        """Free what is held, within about `grace_s`. What still runs is ended, or left behind."""


class Site(NamedTuple):
    """What an executor is made from. The catalog names factories: `Callable[[Site], Executor]`."""

    capacity: int
    """How many runs the worker has at most."""
    classifier: Classifier
    """How failures of the application are treated."""
