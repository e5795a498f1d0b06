"""A job as its submitter holds it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.event import Event
from holdfast.kernel.job import Job
from holdfast.kernel.state import RANK, SUCCESSFUL, Canonical, State

if TYPE_CHECKING:
    from holdfast.runtime.inside import Inside
    from holdfast.tasks.registry import TaskDef

R = TypeVar("R")
T = TypeVar("T")
SLOWEST_LOOK_S = 0.25


class JobFailedError(HoldfastError):
    """The job ended without a result."""

    def __init__(self, job_id: str, state: str, error: dict[str, Any] | None) -> None:
        self.job_id, self.state, self.error = job_id, state, error
        why = f": {error['code']}: {error['message']}" if error else ""
        super().__init__(f"job {job_id} {state}{why}", remedy=f"holdfast job explain {job_id}")


class JobCancelledError(JobFailedError):
    """The job was cancelled."""


class WaitTimeoutError(HoldfastError, TimeoutError):
    """The job did not end in time; it goes on."""


class JobHandle(Generic[R]):
    """Every call asks the store: a handle holds no state of its own."""

    def __init__(self, engine: Inside, job_id: str, task: TaskDef | None = None) -> None:
        self.engine = engine
        self.id = job_id
        self._task = task

    def __repr__(self) -> str:
        return f"<job {self.id}>"

    def _call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.engine.portal.call(coroutine)

    def job(self) -> Job:
        """The whole row, as the database has it: its state by its canonical name."""
        return self._call(self.engine.ajob(self.id))

    def state(self) -> State:
        return self.engine.label(self.job())

    async def astate(self) -> State:
        return self.engine.label(await self.engine.portal.hop(self.engine.ajob(self.id)))

    def result(self, timeout: float | None = None) -> R:
        """Wait for the job and return its result; raises JobFailedError, JobCancelledError or WaitTimeoutError.

        Without a timeout, in seconds, it is the engine's own `wait`: 300 s unless that says otherwise.
        """
        return self._call(self._result(timeout))

    async def aresult(self, timeout: float | None = None) -> R:
        return await self.engine.portal.hop(self._result(timeout))

    def wait(self, timeout: float | None = None) -> State:
        """Wait until the job is over, however it ends."""
        return self.engine.label(self._call(self._wait(timeout)))

    async def await_(self, timeout: float | None = None) -> State:
        return self.engine.label(await self.engine.portal.hop(self._wait(timeout)))

    def cancel(self, reason: str = "cancelled", *, mode: str = "soft") -> State:
        """Stop the job: at once when it is not running, else by asking its worker (soft) or for good (hard)."""
        return self._call(self.engine.cancel_job(self.id, reason, mode))

    async def acancel(self, reason: str = "cancelled", *, mode: str = "soft") -> State:
        return await self.engine.portal.hop(self.engine.cancel_job(self.id, reason, mode))

    def events(self) -> list[Event]:
        return self._call(self.engine.aevents(self.id))

    async def aevents(self) -> list[Event]:
        return await self.engine.portal.hop(self.engine.aevents(self.id))

    async def _wait(self, timeout: float | None) -> Job:
        timeout = self.engine.wait_s if timeout is None else timeout
        deadline = None if timeout is None else time.monotonic() + timeout
        pause = self.engine.first_look_s
        while True:
            job = await self.engine.ajob(self.id)
            if RANK[job.state] >= RANK[Canonical.SUCCEEDED]:
                return job
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitTimeoutError(
                    f"job {self.id} is {self.engine.label(job)} after {timeout:g} s", remedy="it goes on: wait again"
                )
            left = pause if deadline is None else min(pause, max(0.0, deadline - time.monotonic()))
            await asyncio.sleep(left)
            pause = min(pause * 1.5, SLOWEST_LOOK_S)

    async def _result(self, timeout: float | None) -> R:
        job = await self._wait(timeout)
        outcome = json.loads(job.outcome) if job.outcome else {}
        if job.state in SUCCESSFUL:
            value = outcome.get("result")
            return cast(R, value if self._task is None else self._task.work.result(value))
        kind = JobCancelledError if job.state == Canonical.CANCELLED else JobFailedError
        raise kind(self.id, str(self.engine.label(job)), outcome.get("error"))
