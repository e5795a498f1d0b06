"""A declared task: still an ordinary function, and a way to submit it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

from uuid_utils import uuid7

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.job import Spec
from holdfast.kernel.payload.encoding import encode
from holdfast.runtime.handle import JobHandle
from holdfast.store.open import asubmit_in, submit_in
from holdfast.tasks.context import Context, inherited
from holdfast.tasks.duplicates import Handling, handling
from holdfast.tasks.durations import Duration, duration_ms, some_time_ms
from holdfast.tasks.limits import with_limit
from holdfast.tasks.own_terms import own_terms, tries_of
from holdfast.tasks.registry import TaskDef
from holdfast.tasks.work import Python

if TYPE_CHECKING:
    from holdfast.runtime.inside import Inside

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
    timeout: Duration | None = None
    retry_limit: int | None = None
    retry_delay: Duration | None = None
    retry_backoff: bool | None = None
    correlation_id: str | None = None
    trace_id: str | None = None
    parent_id: str | None = None
    tags: Sequence[str] | None = None
    connection: Any = None

    def plus(self, given: Mapping[str, Any]) -> Options:
        """HoldfastError names an option that there is not."""
        known = self.__dataclass_fields__
        if unknown := sorted(given.keys() - known.keys()):
            raise HoldfastError(f"unknown option {unknown[0]!r}", field=unknown[0], remedy=f"known: {', '.join(known)}")
        return replace(self, **given)


class OptionNames(TypedDict, total=False):
    """The same for editors and type checkers: what `task.options(…)` takes."""

    key: str | None
    key_window: Duration | None
    duplicates: str | None
    delay: Duration | None
    start_after: datetime | None
    priority: int | None
    queue: str | None
    expires: Duration | None
    keep_until: datetime | None
    timeout: Duration | None
    retry_limit: int | None
    retry_delay: Duration | None
    retry_backoff: bool | None
    correlation_id: str | None
    trace_id: str | None
    parent_id: str | None
    tags: Sequence[str] | None
    connection: Any


class Task(Generic[P, R]):
    """Call it and it runs here; submit it and it runs as a job."""

    def __init__(self, engine: Inside, definition: TaskDef, options: Options | None = None) -> None:
        self.engine = engine
        self.definition = definition
        self._options = options or Options()
        if isinstance(definition.work, Python):
            functools.update_wrapper(self, definition.work.function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        work = self.definition.work
        if not isinstance(work, Python):
            raise HoldfastError(f"task {self.name} is no function", field="task", remedy="submit it")
        return work.function(*args, **kwargs)

    @property
    def name(self) -> str:
        return self.definition.name

    def options(self, **given: Unpack[OptionNames]) -> Task[P, R]:
        """The same task with options for what is submitted through it."""
        return Task(self.engine, self.definition, self._options.plus(given))

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
        return self._handles(self.engine.near.wait_for(specs))

    async def _asubmit(self, specs: list[Spec]) -> list[JobHandle[R]]:
        if self._options.connection is not None:
            await asubmit_in(self._options.connection, specs, self.engine.tables)
            return self._handles(spec.id for spec in specs)
        return self._handles(await self.engine.near.submit(specs))

    def _handles(self, ids: Iterable[str]) -> list[JobHandle[R]]:
        return [JobHandle(self.engine, job_id, self.definition) for job_id in ids]

    def _specs(self, calls: Iterable[tuple[Any, ...] | Mapping[str, Any]]) -> list[Spec]:
        pack = self.definition.work.pack
        payloads = [pack((), call) if isinstance(call, Mapping) else pack(tuple(call), {}) for call in calls]
        if not payloads or self.definition.limit is not None:
            return [self.spec_of(payload) for payload in payloads]
        # All alike but for their id and payload: what they share is worked out once.
        first = self.spec_of(payloads[0])
        before, after = first[1:3], first[4:]
        return [first, *(Spec._make((str(uuid7()), *before, payload, *after)) for payload in payloads[1:])]

    def spec(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Spec:
        return self.spec_of(self.definition.work.pack(args, kwargs))

    def spec_of(self, payload: str) -> Spec:
        return spec_of(self.definition, payload, self._options)


def spec_of(task: TaskDef, payload: str, chosen: Options) -> Spec:
    """The job that a payload, already checked, becomes."""
    correlation_id, trace_id, parent_id = inherited()
    twice = handling(chosen.duplicates)
    return Spec(
        id=str(uuid7()),
        lifecycle=task.lifecycle.name,
        task=task.name,
        payload=payload,
        queue=chosen.queue or task.queue,
        priority=task.priority if chosen.priority is None else chosen.priority,
        max_tries=tries_of(task.retry.max_tries, chosen.retry_limit),
        lease_ms=task.lease_ms,
        delay_ms=0 if chosen.delay is None else duration_ms(chosen.delay, "delay"),
        due_at_ms=_time_ms(chosen.start_after, "start_after"),
        expire_after_ms=task.expire_after_ms if chosen.expires is None else some_time_ms(chosen.expires, "expires"),
        keep_until_ms=_time_ms(chosen.keep_until, "keep_until"),
        key=chosen.key,
        key_window_ms=_window_ms(chosen, twice),
        duplicates=None if twice is None else twice.policy.value,
        correlation_id=chosen.correlation_id or correlation_id,
        trace_id=chosen.trace_id or trace_id,
        parent_id=chosen.parent_id or parent_id,
        options=with_limit(
            own_terms(task, chosen.timeout, chosen.retry_delay, chosen.retry_backoff),
            task.limit,
            payload,
            task.work.defaults,
        ),
        tags=None if chosen.tags is None else _tags(chosen.tags),
    )


def _time_ms(value: datetime | None, field: str) -> int | None:
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise HoldfastError(f"{field} is no time: {value!r}", field=field, remedy="pass an aware datetime")
    if value.tzinfo is None:
        raise HoldfastError(f"{field} has no time zone", field=field, remedy="pass an aware datetime")
    return round(value.timestamp() * 1_000)


def _tags(tags: Sequence[str]) -> str:
    if isinstance(tags, str) or not all(isinstance(tag, str) for tag in tags):
        raise HoldfastError(f"tags are {tags!r}", field="tags", remedy='a list of texts: ["urgent", "eu"]')
    return encode(list(tags), what="tags")


def _window_ms(chosen: Options, twice: Handling | None) -> int | None:
    if chosen.key_window is not None:
        return duration_ms(chosen.key_window, "key_window")
    return None if twice is None else twice.window_ms


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
