"""A declared task: still an ordinary function, and a way to submit it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from uuid_utils import uuid7

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.job import Spec
from holdfast.kernel.payload import encode
from holdfast.kernel.policy import Duplicates
from holdfast.runtime.context import Context
from holdfast.runtime.durations import Duration, duration_ms
from holdfast.runtime.foreign import asubmit_in, submit_in
from holdfast.runtime.handle import JobHandle
from holdfast.runtime.registry import TaskDef

if TYPE_CHECKING:
    from holdfast.runtime.engine import Engine

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Options:
    """What one submit says beyond the arguments. None leaves what the task says."""

    key: str | None = None
    key_window: Duration | None = None
    duplicates: str | None = None
    delay: Duration | None = None
    start_after: datetime | None = None
    priority: int | None = None
    queue: str | None = None
    expires: Duration | None = None
    keep_until: datetime | None = None
    correlation_id: str | None = None
    trace_id: str | None = None
    tags: tuple[str, ...] | None = None
    connection: Any = None


class Task(Generic[P, R]):
    """Call it and it runs here; submit it and it runs as a job."""

    def __init__(self, engine: Engine, definition: TaskDef, options: Options | None = None) -> None:
        self.engine = engine
        self.definition = definition
        self._options = options or Options()
        functools.update_wrapper(self, definition.function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.definition.function(*args, **kwargs)

    @property
    def name(self) -> str:
        return self.definition.name

    def options(self, **given: Any) -> Task[P, R]:
        """The same task with options for what is submitted through it."""
        known = Options.__dataclass_fields__
        if unknown := sorted(given.keys() - known.keys()):
            raise HoldfastError(f"unknown option {unknown[0]!r}", field=unknown[0], remedy=f"known: {', '.join(known)}")
        return Task(self.engine, self.definition, replace(self._options, **given))

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """Store a job and return its handle. The arguments are checked here, not when it runs."""
        return self._submit([self.spec(args, kwargs)])[0]

    async def asubmit(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        return (await self._asubmit([self.spec(args, kwargs)]))[0]

    def submit_many(self, calls: Iterable[tuple[Any, ...] | Mapping[str, Any]]) -> list[JobHandle[R]]:
        """Many jobs in one statement; each call is a tuple or a mapping of arguments."""
        return self._submit(self._specs(calls))

    async def asubmit_many(self, calls: Iterable[tuple[Any, ...] | Mapping[str, Any]]) -> list[JobHandle[R]]:
        return await self._asubmit(self._specs(calls))

    def _submit(self, specs: list[Spec]) -> list[JobHandle[R]]:
        if self._options.connection is not None:
            submit_in(self._options.connection, specs, self.engine.tables)
            return self._handles(spec.id for spec in specs)
        return self._handles(self.engine.portal.call(self.engine.asubmit_specs(specs)))

    async def _asubmit(self, specs: list[Spec]) -> list[JobHandle[R]]:
        if self._options.connection is not None:
            await asubmit_in(self._options.connection, specs, self.engine.tables)
            return self._handles(spec.id for spec in specs)
        return self._handles(await self.engine.portal.hop(self.engine.asubmit_specs(specs)))

    def _handles(self, ids: Iterable[str]) -> list[JobHandle[R]]:
        return [JobHandle(self.engine, job_id, self.definition) for job_id in ids]

    def _specs(self, calls: Iterable[tuple[Any, ...] | Mapping[str, Any]]) -> list[Spec]:
        return [self.spec((), call) if isinstance(call, Mapping) else self.spec(tuple(call), {}) for call in calls]

    def spec(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Spec:
        return self.spec_of(self.definition.signature.pack(args, kwargs))

    def spec_of(self, payload: str) -> Spec:
        """The job that a payload, already checked, becomes under this task's options."""
        task, chosen = self.definition, self._options
        return Spec(
            id=str(uuid7()),
            lifecycle=task.lifecycle.name,
            task=task.name,
            payload=payload,
            queue=chosen.queue or task.queue,
            priority=task.priority if chosen.priority is None else chosen.priority,
            max_tries=task.retry.max_tries,
            lease_ms=task.lease_ms,
            delay_ms=0 if chosen.delay is None else duration_ms(chosen.delay, "delay"),
            due_at_ms=_time_ms(chosen.start_after, "start_after"),
            expire_after_ms=task.expire_after_ms if chosen.expires is None else duration_ms(chosen.expires, "expires"),
            keep_until_ms=_time_ms(chosen.keep_until, "keep_until"),
            key=chosen.key,
            key_window_ms=None if chosen.key_window is None else duration_ms(chosen.key_window, "key_window"),
            duplicates=None if chosen.duplicates is None else _duplicates(chosen.duplicates),
            correlation_id=chosen.correlation_id,
            trace_id=chosen.trace_id,
            tags=None if chosen.tags is None else encode(list(chosen.tags), what="tags"),
        )


def _time_ms(value: datetime | None, field: str) -> int | None:
    if value is None:
        return None
    if value.tzinfo is None:
        raise HoldfastError(f"{field} has no time zone", field=field, remedy="pass an aware datetime")
    return round(value.timestamp() * 1_000)


def _duplicates(value: str) -> str:
    try:
        return Duplicates(value).value
    except ValueError:
        names = ", ".join(Duplicates)
        raise HoldfastError(f"duplicates is {value!r}", field="duplicates", remedy=f"one of {names}") from None


class Decorator(Protocol):
    """What `app.task` is when it is given options: from a function to its task, context or not, async or not."""

    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], R], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...
    def __call__(self, function: Any, /) -> Any: ...
