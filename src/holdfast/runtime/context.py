"""What a handler is given: its job's identity, and ways to say how far it is and to hear that it should stop."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sized
from typing import Any, ParamSpec, Protocol, TypeVar

import structlog

from holdfast.kernel.job import Job, correlation_of
from holdfast.kernel.payload import encode

P = ParamSpec("P")
T = TypeVar("T")
NOTHING = object()


class JobStopped(BaseException):
    """Raised at a cancellation point of a job that should stop. Not an Exception: `except Exception` lets it pass."""


class Link(Protocol):
    """How a context reaches the store. Blocking: called from a thread or a process of the handler's own."""

    def load_step(self, name: str) -> str | None: ...

    def save_step(self, name: str, result: str) -> None: ...

    def save_checkpoint(self, data: str) -> None: ...

    def save_artifact(self, name: str, data: bytes) -> None: ...


class AsyncLink(Protocol):
    """The same, awaited."""

    async def load_step(self, name: str) -> str | None: ...

    async def save_step(self, name: str, result: str) -> None: ...

    async def save_checkpoint(self, data: str) -> None: ...

    async def save_artifact(self, name: str, data: bytes) -> None: ...


class Progress:
    """How far a job is. Written by the handler, read by the worker's loop: plain fields, no lock."""

    __slots__ = ("changed", "counters", "done", "label", "started_s", "total")

    def __init__(self) -> None:
        self.done: float = 0
        self.total: float | None = None
        self.label: str | None = None
        self.counters: dict[str, float] = {}
        self.started_s = time.monotonic()
        self.changed = False

    def to_json(self) -> str:
        elapsed = time.monotonic() - self.started_s
        eta = None
        if self.total and self.done:
            eta = round(max(0.0, elapsed / self.done * (self.total - self.done)), 1)
        said = {"done": self.done, "total": self.total, "eta_seconds": eta, "counters": self.counters}
        return encode(said | ({"label": self.label} if self.label else {}), what="progress")


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
        self.stop_mode: str | None = None
        self.saw_stop = False
        self._link = link
        self._alink = alink
        self._log: Any = None

    @property
    def fence(self) -> int:
        """The fencing token: send it with every write outside, and refuse there what carries an older one."""
        return self.attempt

    @property
    def log(self) -> Any:
        """A structured logger that carries the job's ids."""
        if self._log is None:
            self._log = structlog.get_logger("holdfast.job").bind(
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
        state = self.progress_state
        state.done = done
        if total is not None:
            state.total = total
        state.counters.update(counters)
        state.changed = True
        self.check()

    def count(self, **counters: float) -> None:
        """Add to the job's counters."""
        state = self.progress_state
        for name, more in counters.items():
            state.counters[name] = state.counters.get(name, 0) + more
        state.changed = True

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
        known = link.load_step(name)
        if known is not None:
            remembered: T = json.loads(known)
            return remembered
        result = function(*args, **kwargs)
        link.save_step(name, encode(result, what=f"step {name}"))
        return result

    async def astep(self, name: str, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        self.check()
        link = self._need(self._alink, "step")
        known = await link.load_step(name)
        if known is not None:
            remembered: T = json.loads(known)
            return remembered
        result = await function(*args, **kwargs)
        await link.save_step(name, encode(result, what=f"step {name}"))
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
