"""The engine that applications hold: what they declare on it and ask of it, and no more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack, overload

from holdfast.chores.scheduler import Schedule
from holdfast.kernel.classify import Classifier
from holdfast.kernel.event import Event
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.state import State
from holdfast.runtime.handle import JobHandle
from holdfast.runtime.inside import Inside
from holdfast.runtime.task import Decorator, Task
from holdfast.store.port import DeadLetter
from holdfast.tasks.context import Context
from holdfast.tasks.durations import Duration
from holdfast.tasks.registry import TaskOptions
from holdfast.views.shown import ShownJob
from holdfast.worker.weights import Queues
from holdfast.worker.worker import Worker

P = ParamSpec("P")
R = TypeVar("R")


class Engine:
    """Declare tasks on it, submit them, look at their jobs.

    `url` is "sqlite:///relative.db", "sqlite:////absolute.db" or "postgresql://…"; without one it is HOLDFAST_DB, else
    ./.holdfast/holdfast.db. The database is opened, and brought up to date, at the first call that needs it.
    `wait` is how long `result` and `wait` of a job wait when they are not told; None is for ever.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        classifier: Classifier | None = None,
        clock: Callable[[], int] | None = None,
        wait: Duration | None = "300s",
    ) -> None:
        self._inside = Inside(url, classifier=classifier, clock=clock, wait=wait)

    @property
    def url(self) -> str:
        """Where its database, or the API that it speaks to, is."""
        return self._inside.url

    @overload
    def task(self, function: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[Concatenate[Context, P], R], /) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...
    @overload
    def task(self, *, lifecycle: str | Lifecycle = "durable", **options: Unpack[TaskOptions]) -> Decorator: ...
    def task(self, *function: Any, **options: Any) -> Any:
        """Declare a function as a task. It stays an ordinary function."""
        wrap = self._inside.task(**options)
        return wrap(*function) if function else wrap

    def schedule(
        self,
        name: str,
        task: Task[..., Any] | str,
        *,
        cron: str,
        timezone: str = "UTC",
        args: Mapping[str, Any] | None = None,
        missed: str = "one",
    ) -> Schedule:
        """Submit a task at the times of a cron expression, from any process that runs the chores.

        `missed` says what becomes of ticks that nobody was there for: "skip" drops them, "one" submits one job for
        all of them, "all" one for each. Declared again under its name, a schedule goes on where it stands.
        """
        chosen: Task[..., Any] = Task(self._inside, self._inside.registry.get(task)) if isinstance(task, str) else task
        template = chosen.spec_of(chosen.definition.work.pack_named(args or {}))
        schedule = Schedule(name, template, cron, timezone, missed)
        self._inside.schedule(schedule)
        return schedule

    def submit(self, task: str, args: Mapping[str, Any] | None = None, **options: Any) -> JobHandle[Any]:
        """Submit a declared task by its name, with its arguments by theirs."""
        return self._inside.submit(task, args, **options)

    def get_job(self, job_id: str) -> ShownJob:
        """One job as it stands, or NotFoundError."""
        return self._inside.portal.call(self._inside.get_job(job_id))

    async def aget_job(self, job_id: str) -> ShownJob:
        return await self._inside.portal.hop(self._inside.get_job(job_id))

    def list_jobs(self, *, state: str | None = None, limit: int = 50, **where: Any) -> list[ShownJob]:
        """The newest jobs, of one state by any lifecycle's name for it; `where` names other columns: task, queue, …"""
        return self._inside.portal.call(self._inside.list_jobs(state, limit, where))

    async def alist_jobs(self, *, state: str | None = None, limit: int = 50, **where: Any) -> list[ShownJob]:
        return await self._inside.portal.hop(self._inside.list_jobs(state, limit, where))

    def cancel_job(self, job_id: str, reason: str = "cancelled", *, mode: str = "soft") -> State:
        """Stop a job: at once when it is not running, else by asking its worker (soft) or for good (hard)."""
        return self._inside.portal.call(self._inside.cancel_job(job_id, reason, mode))

    async def acancel_job(self, job_id: str, reason: str = "cancelled", *, mode: str = "soft") -> State:
        return await self._inside.portal.hop(self._inside.cancel_job(job_id, reason, mode))

    def resume_job(self, job_id: str, reason: str = "resumed") -> State:
        """Let a cancelled job go on, where its lifecycle has that."""
        return self._inside.portal.call(self._inside.resume_job(job_id, reason))

    async def aresume_job(self, job_id: str, reason: str = "resumed") -> State:
        return await self._inside.portal.hop(self._inside.resume_job(job_id, reason))

    def retry_job(self, job_id: str, reason: str = "retried") -> JobHandle[Any]:
        """Run a job now: one that waits becomes due, one that ended badly is submitted once more under its parent."""
        return self._inside.portal.call(self._inside.retry_job(job_id, reason))

    async def aretry_job(self, job_id: str, reason: str = "retried") -> JobHandle[Any]:
        return await self._inside.portal.hop(self._inside.retry_job(job_id, reason))

    def dead_letters(self, **wanted: Any) -> list[DeadLetter]:
        """Dead letters that wait for somebody; by reason_code, stage, task or fingerprint, `resolved=None` for all."""
        return self._inside.portal.call(self._inside.dead_letters(wanted))

    async def adead_letters(self, **wanted: Any) -> list[DeadLetter]:
        return await self._inside.portal.hop(self._inside.dead_letters(wanted))

    def replay(
        self, job_id: str, *, edits: Mapping[str, Any] | None = None, reason: str = "replayed"
    ) -> JobHandle[Any]:
        """A new job that does what a dead-lettered one was to do, arguments edited or not; twice gives the same job."""
        return self._inside.portal.call(self._inside.replay(job_id, edits, reason))

    async def areplay(
        self, job_id: str, *, edits: Mapping[str, Any] | None = None, reason: str = "replayed"
    ) -> JobHandle[Any]:
        return await self._inside.portal.hop(self._inside.replay(job_id, edits, reason))

    def pause_queue(self, queue: str, reason: str | None = None) -> None:
        """Let no worker claim from a queue; what runs goes on."""
        self._inside.portal.call(self._inside.pause_queue(queue, reason))

    async def apause_queue(self, queue: str, reason: str | None = None) -> None:
        await self._inside.portal.hop(self._inside.pause_queue(queue, reason))

    def resume_queue(self, queue: str) -> bool:
        """Whether it was paused."""
        return self._inside.portal.call(self._inside.resume_queue(queue))

    async def aresume_queue(self, queue: str) -> bool:
        return await self._inside.portal.hop(self._inside.resume_queue(queue))

    def follow(self, *, after: int | None = None, **where: Collection[str]) -> Iterator[Event]:
        """Every transition as it happens, from now on or behind the position `after`, for as long as you take them.

        `where` may name jobs, tasks, queues, lifecycles and states, each as a list: only their events come then. An
        event's `pos` is where to go on from after a pause.
        """
        return self._inside.portal.one_by_one(self._inside.follow_batches(after, where))

    def afollow(self, *, after: int | None = None, **where: Collection[str]) -> AsyncIterator[Event]:
        return self._inside.portal.aone_by_one(self._inside.follow_batches(after, where))

    @contextmanager
    def worker(self, *, queues: Queues | None = None, concurrency: int = 10, grace_s: float = 30.0) -> Iterator[Worker]:
        """A worker in this process, with the chores, for as long as the block runs.

        Without `queues` it serves those that the tasks declared by now go to.
        """
        worker = self._inside.portal.call(self._inside.start_worker(queues, concurrency))
        chores = self._inside.portal.call(self._inside.start_chores())
        try:
            yield worker
        finally:
            self._inside.portal.call(worker.stop(grace_s))
            self._inside.portal.call(chores.stop())

    def close(self) -> None:
        """Close the database and end the loop. The engine may be used again afterwards."""
        self._inside.close()
