"""What a handler is given: its job's identity, and ways to say how far it is and to hear that it should stop."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sized
from typing import Any, ParamSpec, Protocol, TypeVar

from holdfast.kernel.job import Job, correlation_of
from holdfast.kernel.outcome import SILENT, Notes
from holdfast.kernel.payload.encoding import encode
from holdfast.observe.current import current
from holdfast.observe.logs import get_logger
from holdfast.tasks.job_log import JobLog
from holdfast.tasks.progress import Progress

P = ParamSpec("P")
T = TypeVar("T")


def inherited() -> tuple[str | None, str | None, str | None]:
    """The correlation id, trace id and parent id of what is submitted from here: none, outside of a run or request."""
    running = current.get()
    return (None, None, None) if running is None else (running.correlation_id, running.trace_id, running.job_id)


class JobStopped(BaseException):
    """Raised at a cancellation point of a job that should stop. Not an Exception: `except Exception` lets it pass."""


class AsyncLink(Protocol):
    """How a context reaches the store."""

    async def load_step(self, name: str) -> str | None: ...
    async def save_step(self, name: str, result: str) -> None: ...
    async def save_checkpoint(self, data: str) -> None: ...
    async def save_artifact(self, name: str, data: bytes) -> None: ...


class Link(ABC):
    """The same, blocking: called from a thread or a process of the handler's own."""

    @abstractmethod
    def call(self, method: str, *arguments: Any) -> Any:
        """Call this method of the job's AsyncLink, where that is, and wait for it."""

    def load_step(self, name: str) -> str | None:
        known: str | None = self.call("load_step", name)
        return known

    def save_step(self, name: str, result: str) -> None:
        self.call("save_step", name, result)

    def save_checkpoint(self, data: str) -> None:
        self.call("save_checkpoint", data)

    def save_artifact(self, name: str, data: bytes) -> None:
        self.call("save_artifact", name, data)


class Context:
    """Injected into a handler by its type."""

    def __init__(self, job: Job, link: Link | None = None, alink: AsyncLink | None = None) -> None:
        self.job_id = job.id
        self.task = job.task
        self.attempt = job.attempt
        self.tries = job.tries
        self.correlation_id = correlation_of(job)
        self.trace_id = job.trace_id
        self.last_checkpoint: Any = None
        self.progress_state = Progress()
        self.lines = JobLog()
        self.output_metadata: dict[str, Any] = {}
        self.stop_mode: str | None = None
        self.saw_stop = False
        self._link = link
        self._alink = alink
        self._log: Any = None
        self._steps: dict[str, str] = {}

    def load(self, checkpoint: str | None) -> None:
        """What the attempt before this one kept."""
        self.last_checkpoint = None if checkpoint is None else json.loads(checkpoint)

    @property
    def fence(self) -> int:
        """The fencing token: send it with every write outside, and refuse there what carries an older one."""
        return self.attempt

    @property
    def log(self) -> Any:
        """A structured logger that carries the job's ids. Its lines are kept with the job: `holdfast job logs`."""
        if self._log is None:
            self._log = get_logger("holdfast.job", self.lines.hear).bind(
                job_id=self.job_id, task=self.task, attempt=self.attempt, correlation_id=self.correlation_id
            )
        return self._log

    @property
    def cancelled(self) -> bool:
        """Whether the job was asked to stop. Who asks and then returns ends as cancelled, with what was returned."""
        if self.stop_mode is not None:
            self.saw_stop = True
        return self.saw_stop

    def check(self) -> None:
        """A cancellation point."""
        if self.cancelled:
            raise JobStopped(self.stop_mode)

    def progress(self, done: float, total: float | None = None, **counters: float) -> None:
        """Say how far the job is. Cheap: it is sent on at most once a second. A cancellation point."""
        self.progress_state.at(done, total)
        self.progress_state.counters.update(counters)
        self.check()

    def count(self, **counters: float) -> None:
        """Add to the job's counters."""
        self.progress_state.add(counters)

    def output(self, **metadata: Any) -> None:
        """Say what the job has made: kept as `output_metadata` with its outcome, whichever way it ends."""
        self.output_metadata |= json.loads(encode(metadata, what="output"))

    def notes(self) -> Notes:
        """What is kept beside the outcome."""
        progress = self.progress_state.to_json() if self.progress_state.spoken else None
        return Notes(self.output_metadata, progress) if progress or self.output_metadata else SILENT

    def track(self, items: Iterable[T], label: str | None = None) -> Iterator[T]:
        """Go through items: progress, heartbeat and cancellation point at each."""
        total = len(items) if isinstance(items, Sized) else None
        self.progress_state.label = label
        for done, item in enumerate(items):
            self.progress(done, total)
            yield item
        if total is not None:
            self.progress(total, total)

    def step(self, name: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a part of the job once: after a crash its result is remembered and it is not run again."""
        self.check()
        link = self._need(self._link, "astep")
        known = self._steps.get(name)
        if known is None and self.attempt > 1:
            known = link.load_step(name)
        if known is not None:
            remembered: T = json.loads(known)
            return remembered
        result = function(*args, **kwargs)
        self._steps[name] = encode(result, what=f"step {name}")
        link.save_step(name, self._steps[name])
        return result

    async def astep(self, name: str, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        self.check()
        link = self._need(self._alink, "step")
        known = self._steps.get(name)
        if known is None and self.attempt > 1:
            known = await link.load_step(name)
        if known is not None:
            remembered: T = json.loads(known)
            return remembered
        result = await function(*args, **kwargs)
        self._steps[name] = encode(result, what=f"step {name}")
        await link.save_step(name, self._steps[name])
        return result

    def checkpoint(self, data: Any) -> None:
        """Keep where the job is: the next attempt finds it as `ctx.last_checkpoint`. A cancellation point."""
        self._need(self._link, "acheckpoint").save_checkpoint(encode(data, what="checkpoint"))
        self.last_checkpoint = data
        self.check()

    async def acheckpoint(self, data: Any) -> None:
        await self._need(self._alink, "checkpoint").save_checkpoint(encode(data, what="checkpoint"))
        self.last_checkpoint = data
        self.check()

    def artifact(self, name: str, data: bytes | str) -> None:
        """Keep a file of the job's, under a name."""
        body = data.encode() if isinstance(data, str) else data
        self._need(self._link, "aartifact").save_artifact(name, body)

    async def aartifact(self, name: str, data: bytes | str) -> None:
        body = data.encode() if isinstance(data, str) else data
        await self._need(self._alink, "artifact").save_artifact(name, body)

    def _need(self, link: T | None, other: str) -> T:
        if link is None:
            raise RuntimeError(f"not from here: use ctx.{other}")
        return link
