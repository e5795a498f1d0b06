"""What an engine is made of: a store, a registry of tasks, and the loop that both live in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

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
from holdfast.runtime.handle import JobHandle
from holdfast.runtime.near import Near
from holdfast.runtime.portal import Portal
from holdfast.runtime.task import Decorator, Task
from holdfast.store.open import open_store
from holdfast.store.port import DeadLetter, Filter, Store, Wanted
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


class Inside:
    """Shared by an engine, its tasks, handles and workers. What is asynchronous runs in the engine's own loop alone."""

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

    def task(self, *, lifecycle: str | Lifecycle = "durable", **options: Unpack[TaskOptions]) -> Decorator:
        """Declare a function as a task."""
        if isinstance(lifecycle, Lifecycle):
            self.tables[lifecycle.name] = lifecycle
        table = lifecycle if isinstance(lifecycle, Lifecycle) else self.table(lifecycle)

        def wrap(function: Callable[..., Any]) -> Task[Any, Any]:
            return Task(self, self.registry.declare(function, table, options))

        return wrap

    def schedule(self, schedule: Schedule) -> None:
        self.schedules[schedule.name] = schedule
        if self._store is not None:
            self.portal.call(Scheduler(self._store).declare([schedule]))

    def table(self, name: str) -> Lifecycle:
        try:
            return self.tables[name]
        except KeyError:
            known = ", ".join(sorted(self.tables))
            raise NotFoundError("lifecycle", name, f"known here: {known}") from None

    def label(self, job: Job) -> State:
        """A job's state, by its lifecycle's own name."""
        return job.state if isinstance(job.state, State) else self.table(job.lifecycle).state(job.state)

    @property
    def store(self) -> Store | None:
        """The store, if it has been opened."""
        return self._store

    async def opened(self) -> Store:
        """The store, opened and brought up to date."""
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
        """One job. Only inside the engine's own loop."""
        job = await (await self.opened()).reads.get(job_id)
        if job is None:
            raise NotFoundError("job", job_id, "it may have been pruned: holdfast job list")
        return job

    async def aevents(self, job_id: str) -> list[Event]:
        return await (await self.opened()).reads.events(job_id)

    async def follow_batches(
        self, after: int | None, where: Mapping[str, Collection[str]]
    ) -> AsyncGenerator[list[Event]]:
        """Transitions as they happen, as many at a time as there are."""
        async for events in following.follow(await self.opened(), after, where):
            yield events

    async def asubmit_specs(self, specs: Sequence[Spec]) -> list[str]:
        """Store specs and wake whoever waits for them."""
        store = await self.opened()
        submitted = await store.jobs.submit(specs)
        self.woken()
        return [answer.job_id for answer in submitted]

    def woken(self) -> None:
        """There may be something to claim: whoever waits, here or elsewhere, looks."""
        if self._store is not None:
            self._store.wakeups.ring()

    def submit(self, task: str, args: Mapping[str, Any] | None = None, **options: Any) -> JobHandle[Any]:
        definition = self.registry.get(task)
        chosen: Task[Any, Any] = Task(self, definition).options(**options)
        return chosen._submit([chosen.spec_of(definition.work.pack_named(args or {}))])[0]

    async def get_job(self, job_id: str) -> ShownJob:
        store = await self.opened()
        return await shown(store, await get_job(store, job_id))

    async def list_jobs(self, state: str | None, limit: int, where: dict[str, Any]) -> list[ShownJob]:
        states = None if state is None else states_named(self.tables, state)
        store = await self.opened()
        found = (await store.reads.list(Filter(states=states, **where), limit=limit)).items
        return [await shown(store, job) for job in found]

    async def cancel_job(self, job_id: str, reason: str, mode: str) -> State:
        return self.label(await self._on(cancel, job_id, reason, mode))

    async def resume_job(self, job_id: str, reason: str) -> State:
        return self.label(await self._on(resume, job_id, reason))

    async def retry_job(self, job_id: str, reason: str) -> JobHandle[Any]:
        retried = await self._on(retry, job_id, reason, check=checker(self.registry))
        return JobHandle(self, retried.job_id)

    async def dead_letters(self, wanted: Mapping[str, Any]) -> list[DeadLetter]:
        return await matching(await self.opened(), Wanted(**wanted))

    async def replay(self, job_id: str, edits: Mapping[str, Any] | None, reason: str) -> JobHandle[Any]:
        check = checker(self.registry)
        answers = await self._on(replay, [job_id], edits=edits, check=check, reason=reason)
        return JobHandle(self, answers[job_id].job_id)

    async def pause_queue(self, queue: str, reason: str | None) -> None:
        await (await self.opened()).admin.queues.pause(queue, reason)

    async def resume_queue(self, queue: str) -> bool:
        return await self._on(lambda store: store.admin.queues.unpause(queue))

    async def _on(
        self, command: Callable[Concatenate[Store, P], Coroutine[Any, Any, R]], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """A command on this engine's store; whoever waits for something to do looks again afterwards."""
        done = await command(await self.opened(), *args, **kwargs)
        self.woken()
        return done

    async def start_worker(self, queues: Queues | None, concurrency: int) -> Worker:
        worker = Worker(self, queues=queues, concurrency=concurrency)
        await worker.start()
        return worker

    async def start_chores(self) -> Chores:
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
