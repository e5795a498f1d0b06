"""What an application declares: its tasks, by name, with their options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from holdfast.kernel.errors import HoldfastError, NotFoundError
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.policy import Exhausted
from holdfast.kernel.retry import RetryPolicy
from holdfast.runtime.context import Context
from holdfast.runtime.durations import Duration, duration_ms
from holdfast.runtime.signature import Signature

EXECUTORS = ("auto", "loop", "thread", "process")
SHORTEST_LEASE_MS = 1_000


@dataclass(frozen=True)
class TaskDef:
    """A declared task: its function and how its jobs are run."""

    name: str
    function: Callable[..., Any]
    signature: Signature
    lifecycle: Lifecycle
    queue: str
    priority: int
    retry: RetryPolicy
    lease_ms: int
    timeout_ms: int | None
    on_exhausted: Exhausted
    executor: str
    expire_after_ms: int | None = None
    compensate: Mapping[str, Callable[[Any], Any]] | None = None

    @property
    def in_loop(self) -> bool:
        return self.executor == "loop"


def declare(function: Callable[..., Any], lifecycle: Lifecycle, options: Mapping[str, Any]) -> TaskDef:
    """A task from its function and options, each checked; an unknown one is named."""
    given = dict(options)
    policies = lifecycle.policies
    name = given.pop("name", None) or function.__name__
    signature = Signature(function, name, Context)
    is_async = inspect.iscoroutinefunction(function)
    task = TaskDef(
        name=name,
        function=function,
        signature=signature,
        lifecycle=lifecycle,
        queue=given.pop("queue", "default"),
        priority=given.pop("priority", 0),
        retry=_retry(policies.retry, given),
        lease_ms=_lease(given.pop("lease", None), policies.lease_ms),
        timeout_ms=_optional_ms(given.pop("timeout", None), "timeout"),
        on_exhausted=_exhausted(given.pop("on_exhausted", policies.on_exhausted)),
        executor=_executor(given.pop("executor", "auto"), is_async, name),
        expire_after_ms=_optional_ms(given.pop("expires", None), "expires") or policies.expire_after_ms,
        compensate=_compensate(given.pop("compensate", None), lifecycle),
    )
    if given:
        known = "name, queue, priority, retries, backoff, lease, timeout, on_exhausted, executor, expires, compensate"
        raise HoldfastError(f"task {name}: unknown option {min(given)!r}", field=min(given), remedy=f"known: {known}")
    return task


def _retry(policy: RetryPolicy, given: dict[str, Any]) -> RetryPolicy:
    retries = given.pop("retries", None)
    if retries is not None:
        if not isinstance(retries, int) or isinstance(retries, bool) or retries < 0:
            raise HoldfastError(f"retries is {retries!r}", field="retries", remedy="a whole number from 0 up")
        policy = replace(policy, max_tries=retries + 1)
    backoff = given.pop("backoff", None)
    if isinstance(backoff, RetryPolicy):
        return replace(backoff, max_tries=policy.max_tries)
    if backoff is None:
        return policy
    base_ms = duration_ms(backoff, "backoff")
    # A first delay beyond the usual cap is meant: the cap gives way.
    cap_ms = policy.cap_ms if policy.cap_ms is None else max(policy.cap_ms, base_ms)
    return replace(policy, base_ms=base_ms, cap_ms=cap_ms)


def _lease(value: Duration | None, default_ms: int) -> int:
    ms = default_ms if value is None else duration_ms(value, "lease")
    if ms < SHORTEST_LEASE_MS:
        raise HoldfastError(
            f"lease is {value!r}", field="lease", remedy="at least 1 s; 30 to 120 s is what we recommend"
        )
    return ms


def _compensate(value: Any, lifecycle: Lifecycle) -> Mapping[str, Callable[[Any], Any]] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or not all(callable(undo) for undo in value.values()):
        raise HoldfastError(
            "compensate says no way to undo", field="compensate", remedy='give steps their undo: {"charge": refund}'
        )
    if not any(row.command == "compensate" for row in lifecycle.transitions):
        raise HoldfastError(
            f"jobs of lifecycle {lifecycle.name!r} are not compensated", field="compensate", remedy="use durable"
        )
    return value


def _optional_ms(value: Duration | None, field: str) -> int | None:
    return None if value is None else duration_ms(value, field)


def _exhausted(value: str) -> Exhausted:
    try:
        return Exhausted(value)
    except ValueError:
        raise HoldfastError(
            f"on_exhausted is {value!r}", field="on_exhausted", remedy='"fail" or "dead_letter"'
        ) from None


def _executor(value: str, is_async: bool, name: str) -> str:
    if value not in EXECUTORS:
        raise HoldfastError(f"executor is {value!r}", field="executor", remedy=f"one of {', '.join(EXECUTORS)}")
    if value == "auto":
        return "loop" if is_async else "thread"
    if is_async and value != "loop":
        raise HoldfastError(f"task {name} is async", field="executor", remedy='async tasks run in the loop: "loop"')
    if value == "loop" and not is_async:
        raise HoldfastError(f"task {name} is not async", field="executor", remedy='"thread" or "process"')
    return value


class Registry:
    """Tasks by name."""

    def __init__(self) -> None:
        self._tasks: dict[str, TaskDef] = {}

    def add(self, task: TaskDef) -> None:
        known = self._tasks.get(task.name)
        if known is not None and known.function.__qualname__ != task.function.__qualname__:
            raise HoldfastError(f"two tasks are named {task.name!r}", field="name", remedy="give one of them name=…")
        self._tasks[task.name] = task

    def get(self, name: str) -> TaskDef:
        try:
            return self._tasks[name]
        except KeyError:
            known = ", ".join(sorted(self._tasks)) or "none"
            raise NotFoundError("task", name, f"declared here: {known}") from None

    def find(self, name: str) -> TaskDef | None:
        return self._tasks.get(name)

    def __iter__(self) -> Any:
        return iter(self._tasks.values())
