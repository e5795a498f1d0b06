"""The facade: a store, a registry of tasks, and the loop that both live in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack, overload

from holdfast import catalog, config
from holdfast.catalog import KNOWN, tables
from holdfast.chores.runner import Chores
from holdfast.chores.scheduler import Schedule, Scheduler
from holdfast.commands.anew import checker
from holdfast.commands.cancel import cancel
from holdfast.commands.replay import replay
from holdfast.commands.resume import resume
from holdfast.commands.retry import retry
from holdfast.kernel.classify import Classifier
from holdfast.kernel.errors import NotFoundError
from holdfast.kernel.event import Event
from holdfast.kernel.job import Job, Spec
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.state import State
from holdfast.runtime import events as outside
from holdfast.runtime.handle import JobHandle
from holdfast.runtime.near import Near
from holdfast.runtime.portal import Portal
from holdfast.runtime.task import Decorator, Task
from holdfast.store.open import open_store
from holdfast.store.port import Filter, Letter, Store, Wanted
from holdfast.tasks.context import Context
from holdfast.tasks.durations import Duration, duration_ms
from holdfast.tasks.registry import Registry, TaskOptions
from holdfast.views import following
from holdfast.views.find import get_job, states_named
from holdfast.views.letters import matching
from holdfast.views.shown import ShownJob, shown
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

    first_look_s = 0.002
    """How soon who waits for a job looks again the first time."""

    def __init__(
        self,
        url: str | None = None,
        *,
        classifier: Classifier | None = None,
        clock: Callable[[], int] | None = None,
        wait: Duration | None = "300s",
    ) -> None:
        self.wait_s = None if wait is None else duration_ms(wait, "wait") / 1_000
        self.url = config.load({"db": url}).db
        self.registry = Registry(catalog.executors(), catalog.arounds())
        self.portal = Portal()
        self.classifier = classifier or Classifier()
        self.clock = clock
        self.tables: dict[str, Lifecycle] = tables()
        self.schedules: dict[str, Schedule] = {}
        self._store: Store | None = None
        self._opening: asyncio.Lock | None = None
        self.near = Near(self)

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
        lifecycle = options.pop("lifecycle", "durable")
        if isinstance(lifecycle, Lifecycle):
            self.tables[lifecycle.name] = lifecycle
        table = lifecycle if isinstance(lifecycle, Lifecycle) else self.table(lifecycle)

        def wrap(function: Callable[..., Any]) -> Task[Any, Any]:
            return Task(self, self.registry.declare(function, table, options))

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
        chosen: Task[..., Any] = Task(self, self.registry.get(task)) if isinstance(task, str) else task
        template = chosen.spec_of(chosen.definition.work.pack_named(args or {}))
        schedule = self.schedules[name] = Schedule(name, template, cron, timezone, missed)
        if self._store is not None:
            self.portal.call(Scheduler(self._store).declare([schedule]))
        return schedule

    def table(self, name: str) -> Lifecycle:
        try:
            return self.tables[name]
        except KeyError:
            known = ", ".join(sorted(self.tables))
            raise NotFoundError("lifecycle", name, f"known here: {known}") from None

    def label(self, job: Job) -> State:
        """A job's state, by its lifecycle's own name."""
        return job.state if isinstance(job.state, State) else self.table(job.lifecycle).state(job.state)

    async def opened(self) -> Store:
        """The store, opened and brought up to date. Only inside the engine's own loop."""
        if self._store is None:
            self._opening = self._opening or asyncio.Lock()
            async with self._opening:
                if self._store is None:
                    store = open_store(self.url, clock=self.clock)
                    await store.migrate()
                    for name, table in self.tables.items():
                        if name not in KNOWN:
                            await store.register(table)
                    await Scheduler(store).declare(list(self.schedules.values()))
                    self._store = store
        return self._store

    async def ajob(self, job_id: str) -> Job:
        """One job. Only inside the engine's own loop, as all that a handle asks for."""
        job = await (await self.opened()).reads.get(job_id)
        if job is None:
            raise NotFoundError("job", job_id, "it may have been pruned: holdfast job list")
        return job

    async def aevents(self, job_id: str) -> list[Event]:
        return await (await self.opened()).reads.events(job_id)

    def follow(self, *, after: int | None = None, **where: Collection[str]) -> Iterator[Event]:
        """Every transition as it happens, from now on or behind the position `after`, for as long as you take them.

        `where` may name jobs, tasks, queues, lifecycles and states, each as a list: only their events come then. An
        event's `pos` is where to go on from after a pause.
        """
        return outside.one_by_one(self.portal, self.follow_batches(after, where))

    def afollow(self, *, after: int | None = None, **where: Collection[str]) -> AsyncIterator[Event]:
        return outside.aone_by_one(self.portal, self.follow_batches(after, where))

    async def follow_batches(
        self, after: int | None, where: Mapping[str, Collection[str]]
    ) -> AsyncGenerator[list[Event]]:
        """The same, as many at a time as there are. Only inside the engine's own loop."""
        async for events in following.follow(await self.opened(), after, where):
            yield events

    async def asubmit_specs(self, specs: Sequence[Spec]) -> list[str]:
        """Store specs and wake whoever waits for them. Only inside the engine's own loop."""
        store = await self.opened()
        submitted = await store.jobs.submit(specs)
        self.woken()
        return [answer.job_id for answer in submitted]

    def woken(self) -> None:
        """There may be something to claim: whoever waits, here or elsewhere, looks. Only inside the loop."""
        if self._store is not None:
            self._store.wakeups.ring()

    def submit(self, task: str, args: Mapping[str, Any] | None = None, **options: Any) -> JobHandle[Any]:
        """Submit a declared task by its name, with its arguments by theirs."""
        definition = self.registry.get(task)
        chosen: Task[Any, Any] = Task(self, definition).options(**options)
        return chosen._submit([chosen.spec_of(definition.work.pack_named(args or {}))])[0]

    def get_job(self, job_id: str) -> ShownJob:
        """One job as it stands, or NotFoundError."""
        return self.portal.call(self._get_job(job_id))

    async def aget_job(self, job_id: str) -> ShownJob:
        return await self.portal.hop(self._get_job(job_id))

    async def _get_job(self, job_id: str) -> ShownJob:
        store = await self.opened()
        return await shown(store, await get_job(store, job_id))

    def list_jobs(self, *, state: str | None = None, limit: int = 50, **where: Any) -> list[ShownJob]:
        """The newest jobs, of one state by any lifecycle's name for it; `where` names other columns: task, queue, …"""
        return self.portal.call(self._list_jobs(state, limit, where))

    async def alist_jobs(self, *, state: str | None = None, limit: int = 50, **where: Any) -> list[ShownJob]:
        return await self.portal.hop(self._list_jobs(state, limit, where))

    async def _list_jobs(self, state: str | None, limit: int, where: dict[str, Any]) -> list[ShownJob]:
        states = None if state is None else states_named(self.tables, state)
        store = await self.opened()
        found = (await store.reads.list(Filter(states=states, **where), limit=limit)).items
        return [await shown(store, job) for job in found]

    def cancel_job(self, job_id: str, reason: str = "cancelled", *, mode: str = "soft") -> State:
        """Stop a job: at once when it is not running, else by asking its worker (soft) or for good (hard)."""
        return self.portal.call(self._cancel_job(job_id, reason, mode))

    async def acancel_job(self, job_id: str, reason: str = "cancelled", *, mode: str = "soft") -> State:
        return await self.portal.hop(self._cancel_job(job_id, reason, mode))

    async def _cancel_job(self, job_id: str, reason: str, mode: str) -> State:
        return self.label(await self._on(cancel, job_id, reason, mode))

    def resume_job(self, job_id: str, reason: str = "resumed") -> State:
        """Let a cancelled job go on, where its lifecycle has that."""
        return self.portal.call(self._resume_job(job_id, reason))

    async def aresume_job(self, job_id: str, reason: str = "resumed") -> State:
        return await self.portal.hop(self._resume_job(job_id, reason))

    async def _resume_job(self, job_id: str, reason: str) -> State:
        return self.label(await self._on(resume, job_id, reason))

    def retry_job(self, job_id: str, reason: str = "retried") -> JobHandle[Any]:
        """Run a job now: one that waits becomes due, one that ended badly is submitted once more under its parent."""
        return self.portal.call(self._retry_job(job_id, reason))

    async def aretry_job(self, job_id: str, reason: str = "retried") -> JobHandle[Any]:
        return await self.portal.hop(self._retry_job(job_id, reason))

    async def _retry_job(self, job_id: str, reason: str) -> JobHandle[Any]:
        retried = await self._on(retry, job_id, reason, check=checker(self.registry))
        return JobHandle(self, retried.job_id)

    def dead_letters(self, **wanted: Any) -> list[Letter]:
        """Dead letters that wait for somebody; by reason_code, stage, task or fingerprint, `resolved=None` for all."""
        return self.portal.call(self._dead_letters(wanted))

    async def adead_letters(self, **wanted: Any) -> list[Letter]:
        return await self.portal.hop(self._dead_letters(wanted))

    async def _dead_letters(self, wanted: Mapping[str, Any]) -> list[Letter]:
        return await matching(await self.opened(), Wanted(**wanted))

    def replay(
        self, job_id: str, *, edits: Mapping[str, Any] | None = None, reason: str = "replayed"
    ) -> JobHandle[Any]:
        """A new job that does what a dead-lettered one was to do, arguments edited or not; twice gives the same job."""
        return self.portal.call(self._replay(job_id, edits, reason))

    async def areplay(
        self, job_id: str, *, edits: Mapping[str, Any] | None = None, reason: str = "replayed"
    ) -> JobHandle[Any]:
        return await self.portal.hop(self._replay(job_id, edits, reason))

    async def _replay(self, job_id: str, edits: Mapping[str, Any] | None, reason: str) -> JobHandle[Any]:
        check = checker(self.registry)
        answers = await self._on(replay, [job_id], edits=edits, check=check, reason=reason)
        return JobHandle(self, answers[job_id].job_id)

    def pause_queue(self, queue: str, reason: str | None = None) -> None:
        """Let no worker claim from a queue; what runs goes on."""
        self.portal.call(self._pause_queue(queue, reason))

    async def apause_queue(self, queue: str, reason: str | None = None) -> None:
        await self.portal.hop(self._pause_queue(queue, reason))

    async def _pause_queue(self, queue: str, reason: str | None) -> None:
        await (await self.opened()).admin.queues.pause(queue, reason)

    def resume_queue(self, queue: str) -> bool:
        """Whether it was paused."""
        return self.portal.call(self._resume_queue(queue))

    async def aresume_queue(self, queue: str) -> bool:
        return await self.portal.hop(self._resume_queue(queue))

    async def _resume_queue(self, queue: str) -> bool:
        return await self._on(lambda store: store.admin.queues.unpause(queue))

    async def _on(
        self, command: Callable[Concatenate[Store, P], Coroutine[Any, Any, R]], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """A command on this engine's store; whoever waits for something to do looks again afterwards."""
        done = await command(await self.opened(), *args, **kwargs)
        self.woken()
        return done

    @contextmanager
    def worker(self, *, queues: Queues | None = None, concurrency: int = 10, grace_s: float = 30.0) -> Iterator[Worker]:
        """A worker in this process, with the chores, for as long as the block runs.

        Without `queues` it serves those that the tasks declared by now go to.
        """
        worker = self.portal.call(self._start_worker(queues, concurrency))
        chores = self.portal.call(self._start_chores())
        try:
            yield worker
        finally:
            self.portal.call(worker.stop(grace_s))
            self.portal.call(chores.stop())

    async def _start_worker(self, queues: Queues | None, concurrency: int) -> Worker:
        worker = Worker(self, queues=queues, concurrency=concurrency)
        await worker.start()
        return worker

    async def _start_chores(self) -> Chores:
        chores = Chores(await self.opened())
        chores.start()
        return chores

    def close(self) -> None:
        """Close the database and end the loop. The engine may be used again afterwards."""
        self.near.close()
        if self._store is not None:
            store, self._store = self._store, None
            self.portal.call(store.close())
        self._opening = None
        self.portal.close()
