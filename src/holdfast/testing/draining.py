"""Run what is due, here and now: claimed, executed and recorded by the worker's own code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from holdfast.chores.expirer import Expirer
from holdfast.chores.reaper import Reaper
from holdfast.chores.scheduler import Scheduler
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Command, Lifecycle
from holdfast.kernel.move import move
from holdfast.kernel.state import LEASED, OVER, RANK, Canonical
from holdfast.runtime.engine import Engine
from holdfast.runtime.handle import JobHandle
from holdfast.store.port import Filter, Lease, Store
from holdfast.tasks.durations import Duration, duration_ms
from holdfast.testing.clock import MovableClock
from holdfast.testing.engine import clock_of
from holdfast.worker.worker import Worker

LOOK_S = 0.002
PAGE = 500
LIVE = tuple(state.value for state in Canonical if RANK[state] < OVER)
NO_LEASE = Lease("00000000-0000-0000-0000-000000000000", 0)
Until = Callable[[], bool] | JobHandle[Any]


class Drained(NamedTuple):
    """What a drain did: how many runs of handlers ended, and how far it moved the clock."""

    runs: int
    moved_ms: int


def drain(
    engine: Engine,
    until: Until | None = None,
    *,
    move_clock: bool | Duration = False,
    concurrency: int = 1,
    timeout: float = 30.0,
) -> Drained:
    """Run every job that is due, and what these submit, until nothing is due any more.

    Retries that wait, delays and expiries take time: with `move_clock` the clock is moved to the next of them, again
    and again until nothing is left; with a duration, to the end of that duration, and schedules tick as well. `until`
    is a job, or a function: when the job is over or the function says so, no more is begun. Real time is spent on
    handlers alone; a drain that takes longer than `timeout` seconds raises TimeoutError.
    """
    return engine._inside.portal.call(_Drain(engine, until, move_clock, concurrency).run(timeout))


class _Drain:
    def __init__(self, engine: Engine, until: Until | None, move_clock: bool | Duration, concurrency: int) -> None:
        self._inside = engine._inside
        self._until = until
        self._concurrency = concurrency
        self._clock = _movable(engine) if move_clock is not False else None
        self._end_ms: int | None = None
        if self._clock is not None and not isinstance(move_clock, bool):
            self._end_ms = self._clock() + duration_ms(move_clock, "move_clock")

    async def run(self, timeout: float) -> Drained:
        self._store = await self._inside.opened()
        began_ms = await self._store.now_ms()
        runs = 0
        async with asyncio.timeout(timeout):
            while True:
                await self._chores()
                jobs = await _live(self._store)
                if await self._enough():
                    break
                now_ms = await self._store.now_ms()
                if queues := {job.queue for job in jobs if job.ready and job.due_at_ms <= now_ms}:
                    runs += await self._work(sorted(queues))
                elif not await self._move(jobs, now_ms):
                    break
        return Drained(runs, await self._store.now_ms() - began_ms)

    async def _chores(self) -> None:
        """What would be done beside the workers: lost leases, expiries and schedules."""
        for chore in (Reaper(self._store), Expirer(self._store), Scheduler(self._store)):
            await chore.run_once()

    async def _work(self, queues: list[str]) -> int:
        """A worker until nothing of these queues is due. It needs no heartbeat: time stands still."""
        worker = Worker(self._inside, queues=queues, concurrency=self._concurrency, heartbeat=False)
        await worker.start()
        try:
            while not await self._enough():
                if not worker.running and not worker.writer.pending and not await self._due(queues):
                    break
                await asyncio.sleep(LOOK_S)
        finally:
            await worker.stop()
            await _hand_back(self._store, worker.owner)
        return worker.writer.written

    async def _due(self, queues: Iterable[str]) -> bool:
        now_ms = await self._store.now_ms()
        wanted = set(queues)
        return any(
            job.queue in wanted and (job.state in LEASED or (job.ready and job.due_at_ms <= now_ms))
            for job in await _live(self._store)
        )

    async def _enough(self) -> bool:
        if isinstance(self._until, JobHandle):
            job = await self._store.reads.get(self._until.id)
            return job is not None and RANK[job.state] >= OVER
        # In a thread: the function may look at jobs, and these calls wait for this loop.
        return self._until is not None and await asyncio.to_thread(self._until)

    async def _move(self, jobs: list[Job], now_ms: int) -> bool:
        """Move the clock to the next thing that time alone brings; False when there is none."""
        clock, end_ms = self._clock, self._end_ms
        if clock is None:
            return False
        times = [at_ms for job in jobs for at_ms in _times_of(job, self._inside.tables)]
        if end_ms is not None:
            times += [row.next_tick_ms for row in await Scheduler(self._store).list() if not row.paused]
            times = [min(at_ms, end_ms) for at_ms in [*times, end_ms]]
        later = [at_ms for at_ms in times if at_ms > now_ms]
        if later:
            clock.advance_to(min(later))
        return bool(later)


async def _hand_back(store: Store, owner: str) -> None:
    """What a worker was given while it was stopped, and so never saw, goes back as if it had not been claimed."""
    await store.jobs.renew(owner, [NO_LEASE])  # a write that waits for the claims before it
    for job in await _live(store):
        table = store.tables[job.lifecycle]
        if job.lease_owner == owner and table.find(job.state, Command.HAND_BACK):
            await store.jobs.apply(
                move(table, [job], Command.HAND_BACK, actor=owner, owner=owner, reason="worker_stopped")
            )


def _times_of(job: Job, tables: Mapping[str, Lifecycle]) -> Iterable[int]:
    """When time alone changes something for a job: it is due, it expires, its lease runs out."""
    if job.ready:
        yield job.due_at_ms
    if job.expires_at_ms is not None and tables[job.lifecycle].find(job.state, Command.EXPIRE):
        yield job.expires_at_ms
    if job.lease_until_ms is not None:
        yield job.lease_until_ms


async def _live(store: Store) -> list[Job]:
    jobs: list[Job] = []
    cursor: str | None = None
    while True:
        page = await store.reads.list(Filter(states=LIVE), limit=PAGE, cursor=cursor)
        jobs += page.items
        cursor = page.next_cursor
        if cursor is None:
            return jobs


def _movable(engine: Engine) -> MovableClock:
    clock = clock_of(engine)
    if clock is None:
        raise HoldfastError(
            "the engine's clock cannot be moved",
            field="move_clock",
            remedy="use holdfast.testing.temporary_engine, or Engine(clock=MovableClock())",
        )
    return clock
