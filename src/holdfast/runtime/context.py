"""What a handler is given: its job's identity, and ways to say how far it is and to hear that it should stop."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sized
from typing import Any, ParamSpec, Protocol, TypeVar

from holdfast.kernel.job import Job, correlation_of
from holdfast.kernel.payload import encode, sanitise
from holdfast.observe.logs import get_logger

P = ParamSpec("P")
T = TypeVar("T")


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

    __slots__ = ("_first", "changed", "counters", "done", "label", "started_s", "total")

    def __init__(self) -> None:
        self.done: float = 0
        self.total: float | None = None
        self.label: str | None = None
        self.counters: dict[str, float] = {}
        self.started_s = time.monotonic()
        self.changed = False
        self._first: tuple[float, float] | None = None

    def at(self, done: float, total: float | None) -> None:
        if self._first is None:
            self._first = (time.monotonic(), done)
        self.done = done
        if total is not None:
            self.total = total
        self.changed = True

    def add(self, counters: Mapping[str, float]) -> None:
        for name, more in counters.items():
            self.counters[name] = self.counters.get(name, 0) + more
        self.changed = True

    def values(self) -> list[Any]:
        """What another process needs for a copy."""
        return [self.done, self.total, self.label, dict(self.counters)]

    def take(self, done: float, total: float | None, label: str | None, counters: dict[str, float]) -> None:
        self.at(done, total)
        self.label, self.counters = label, counters

    def eta_s(self) -> float | None:
        """What is left, at the pace since the first word: a job that goes on half-way has not done that half now."""
        if self.total is None or self._first is None:
            return None
        since_s, at_first = self._first
        if self.done <= at_first:
            return None
        pace = (time.monotonic() - since_s) / (self.done - at_first)
        return round(max(0.0, pace * (self.total - self.done)), 1)

    def to_json(self) -> str:
        counters = dict(self.counters) | {"duration_seconds": round(time.monotonic() - self.started_s, 3)}
        said = {"done": self.done, "total": self.total, "eta_seconds": self.eta_s(), "counters": counters}
        # Sanitised: a counter that is no number is the handler's mistake, and not worth its job.
        return sanitise(said | ({"label": self.label} if self.label else {}))


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
        """A structured logger that carries the job's ids."""
        if self._log is None:
            self._log = get_logger("holdfast.job").bind(
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
