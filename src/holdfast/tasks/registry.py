"""What an application declares: its tasks, by name, with their options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict, TypeVar

from holdfast.kernel.errors import HoldfastError, NotFoundError
from holdfast.kernel.job import DEFAULT_QUEUE, Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.policy import Exhausted
from holdfast.kernel.retry import RetryPolicy
from holdfast.tasks.durations import Duration, duration_ms, some_time_ms
from holdfast.tasks.limits import Limit, limit_of
from holdfast.tasks.work import Python, Work

T = TypeVar("T")
SHORTEST_LEASE_MS = 1_000


class TaskOptions(TypedDict, total=False):
    """For editors and type checkers: what `app.task(…)` takes beside the lifecycle."""

    name: str
    queue: str
    priority: int
    retries: int
    backoff: Duration | RetryPolicy
    lease: Duration
    timeout: Duration
    run_ttl: Duration
    on_exhausted: str
    executor: str
    expires: Duration
    compensate: Mapping[str, Callable[[Any], Any]]
    limit: Limit | tuple[str | Callable[..., str], int]


@dataclass(frozen=True)
class TaskDef:
    """A declared task: what is to be done, and how its jobs are run."""

    name: str
    work: Work
    lifecycle: Lifecycle
    queue: str
    priority: int
    retry: RetryPolicy
    lease_ms: int
    timeout_ms: int | None
    on_exhausted: Exhausted
    expire_after_ms: int | None = None
    compensate: Mapping[str, Callable[[Any], Any]] | None = None
    limit: Limit | None = None

    def under(self, table: Lifecycle) -> TaskDef:
        """The same task for jobs that follow another lifecycle, as the nodes of a flow do."""
        return replace(self, lifecycle=table, on_exhausted=table.policies.on_exhausted, compensate=None)


def define(name: str, work: Work, lifecycle: Lifecycle, options: Mapping[str, Any]) -> TaskDef:
    """A task of any work, its options checked. Without any it is what its lifecycle says."""
    given = dict(options)
    policies = lifecycle.policies
    task = TaskDef(
        name=name,
        work=work,
        lifecycle=lifecycle,
        queue=_text(given.pop("queue", DEFAULT_QUEUE), "queue"),
        priority=_whole(given.pop("priority", 0), "priority"),
        retry=_retry(policies.retry, given),
        lease_ms=_lease(given.pop("lease", None), policies.lease_ms),
        timeout_ms=_optional_ms(given.pop("run_ttl", given.pop("timeout", None)), "timeout"),
        on_exhausted=_exhausted(given.pop("on_exhausted", policies.on_exhausted)),
        expire_after_ms=_optional_ms(given.pop("expires", None), "expires") or policies.expire_after_ms,
        compensate=_compensate(given.pop("compensate", None), lifecycle),
        limit=limit_of(given.pop("limit", None), work.parameters),
    )
    if given:
        known = ", ".join(TaskOptions.__annotations__)
        raise HoldfastError(f"task {name}: unknown option {min(given)!r}", field=min(given), remedy=f"known: {known}")
    return task


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str) or not value:
        raise HoldfastError(f"{field} is {value!r}", field=field, remedy="a text that is not empty")
    return value


def _whole(value: Any, field: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise HoldfastError(f"{field} is {value!r}", field=field, remedy="a whole number")
    return value


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
    return beginning(policy, duration_ms(backoff, "backoff"))


def beginning(policy: RetryPolicy, base_ms: int) -> RetryPolicy:
    """The same with another first delay. One beyond the usual cap is meant: the cap gives way."""
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
    return None if value is None else some_time_ms(value, field)


def _exhausted(value: str) -> Exhausted:
    try:
        return Exhausted(value)
    except ValueError:
        raise HoldfastError(
            f"on_exhausted is {value!r}", field="on_exhausted", remedy='"fail" or "dead_letter"'
        ) from None


class Registry:
    """Tasks by name, and what they are run with."""

    def __init__(self, executors: Mapping[str, str], arounds: Mapping[str, str]) -> None:
        self.executors = executors
        """By the name that works ask for, where each executor is."""
        self.arounds = arounds
        """By the lifecycle of jobs, where that is which goes on around their runs."""
        self._tasks: dict[str, TaskDef] = {}
        self._wholes: dict[type[Any], dict[str, Any]] = {}

    def wholes(self, kind: type[T]) -> dict[str, T]:
        """What is declared on top of tasks, as flows and pipelines are, by name: it takes new ones."""
        return self._wholes.setdefault(kind, {})

    def add(self, task: TaskDef) -> None:
        known = self._tasks.get(task.name)
        if known is not None and known.work != task.work:
            raise HoldfastError(f"two tasks are named {task.name!r}", field="name", remedy="give one of them name=…")
        self._tasks[task.name] = task

    def declare(self, function: Callable[..., Any], lifecycle: Lifecycle, options: Mapping[str, Any]) -> TaskDef:
        """A task from its function and options, each checked; an unknown one is named."""
        given = dict(options)
        name = _text(given.pop("name", function.__name__), "name")
        executor = self._executor(given.pop("executor", "auto"), inspect.iscoroutinefunction(function), name)
        task = define(name, Python(function, name, executor), lifecycle, given)
        self.add(task)
        return task

    def _executor(self, value: str, is_async: bool, name: str) -> str:
        known = ("auto", *self.executors)
        if value not in known:
            raise HoldfastError(f"executor is {value!r}", field="executor", remedy=f"one of {', '.join(known)}")
        if value == "auto":
            return "loop" if is_async else "thread"
        if is_async and value in ("thread", "process"):
            raise HoldfastError(f"task {name} is async", field="executor", remedy='async tasks run in the loop: "loop"')
        if value == "loop" and not is_async:
            raise HoldfastError(f"task {name} is not async", field="executor", remedy='"thread" or "process"')
        return value

    def get(self, name: str) -> TaskDef:
        try:
            return self._tasks[name]
        except KeyError:
            known = ", ".join(sorted(self._tasks)) or "none"
            raise NotFoundError("task", name, f"declared here: {known}") from None

    def find(self, name: str) -> TaskDef | None:
        return self._tasks.get(name)

    def of(self, job: Job, tables: Mapping[str, Lifecycle]) -> TaskDef | None:
        """The task of a job, under the lifecycle that the job follows; None when it is not declared here."""
        task = self._tasks.get(job.task)
        return task if task is None or task.lifecycle.name == job.lifecycle else task.under(tables[job.lifecycle])

    def queues(self) -> dict[str, int]:
        """Every queue that a task goes to, each as often as the others: what a worker serves when it is not told."""
        return dict.fromkeys(sorted({task.queue for task in self} | {DEFAULT_QUEUE}), 1)

    def __iter__(self) -> Iterator[TaskDef]:
        return iter(self._tasks.values())
