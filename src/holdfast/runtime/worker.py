"""A worker: claims, runs handlers, hands what they ended with to the writer."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog
from uuid_utils import uuid4

from holdfast.executors.threads import Threads
from holdfast.kernel import outcome as o
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import Move
from holdfast.kernel.settle import settle
from holdfast.kernel.state import LEASED
from holdfast.runtime import ending
from holdfast.runtime.context import Context, JobStopped
from holdfast.runtime.heartbeat import Heartbeat
from holdfast.runtime.links import LoopLink, ThreadLink
from holdfast.runtime.registry import TaskDef
from holdfast.runtime.writer import Writer
from holdfast.store.port import Applied, Lease, Signal

if TYPE_CHECKING:
    from holdfast.runtime.engine import Engine

POLL_S = 1.0
WATCH_S = 0.5
UNKNOWN_TASK_DELAY_MS = 5_000

log = structlog.get_logger("holdfast.worker")


@dataclass(slots=True)
class Running:
    """One job in this worker's hands."""

    job: Job
    task: TaskDef
    ctx: Context
    since_s: float
    run: asyncio.Task[None] | None = None


class Worker:
    """Runs on the engine's loop. `start`, then `stop`; nothing that it holds is lost in between."""

    def __init__(
        self,
        engine: Engine,
        *,
        queues: Sequence[str] = ("default",),
        concurrency: int = 10,
        heartbeat: bool = True,
    ) -> None:
        self.engine = engine
        self.queues = list(queues)
        self.concurrency = concurrency
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{str(uuid4())[:8]}"
        self.running: dict[str, Running] = {}
        self.lost = 0
        self._let_go: list[Lease] = []
        self._stopping = False
        self._free = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        self._threads = Threads(concurrency)
        self._heart: Heartbeat | None = None
        self._use_heart = heartbeat

    async def start(self) -> None:
        self.store = await self.engine.opened()
        self.writer = Writer(self.store, self.owner, self._wrote)
        self.writer.start()
        if self._use_heart:
            self._heart = Heartbeat(self.engine.url, self.owner, self._lose)
            await self._heart.start()
        self._loops = [
            asyncio.create_task(self._claim(), name="holdfast-claim"),
            asyncio.create_task(self._watch(), name="holdfast-watch"),
            asyncio.create_task(self.store.bell.listen(self.engine.waker.wake), name="holdfast-listen"),
        ]

    async def _claim(self) -> None:
        """Claim up to the free slots, for as long as the worker runs."""
        waker = self.engine.waker
        looked_over_s = 0.0
        while not self._stopping:
            free = self.concurrency - len(self.running)
            if free <= 0 or self.writer.pending > 4 * self.concurrency:
                self._free.clear()
                await self._free.wait()
                continue
            ticket = waker.ticket()
            try:
                jobs = await self.store.claim(self.queues, free, self.owner)
                if not jobs and time.monotonic() - looked_over_s >= POLL_S:
                    looked_over_s = time.monotonic()
                    jobs = await self.store.take_over(self.queues, free, self.owner)
            except Exception as error:  # the database is away: the claim is tried again, whatever it was
                log.warning("claim_failed", error=str(error))
                await asyncio.sleep(POLL_S)
                continue
            if jobs:
                self._dispatch(jobs)
            else:
                await waker.wait(ticket, POLL_S)

    def _dispatch(self, jobs: list[Job]) -> None:
        if self._heart is not None:
            self._heart.hold(jobs)
        loop = asyncio.get_running_loop()
        for job in jobs:
            task = self.engine.registry.find(job.task)
            if task is None:
                self._hand_back(job, "unknown_task", UNKNOWN_TASK_DELAY_MS)
                continue
            ctx = Context(job)
            held = Running(job, task, ctx, time.monotonic())
            self.running[job.id] = held
            held.run = loop.create_task(self._run(held))

    async def _run(self, held: Running) -> None:
        outcome = await self._execute(held)
        if self.running.pop(held.job.id, None) is not held:
            return  # taken from us meanwhile: whatever came out of it counts for nothing
        self._settle(held, outcome)
        self._free.set()

    def _settle(self, held: Running, outcome: o.Outcome) -> None:
        task = held.task
        path, move = settle(
            task.lifecycle,
            held.job,
            outcome,
            chance=random.random(),  # noqa: S311 - spreads back-offs, guards nothing
            retry=task.retry,
            on_exhausted=task.on_exhausted,
        )
        self.writer.add(task.lifecycle, path, move)

    async def _execute(self, held: Running) -> o.Outcome:
        job, task, ctx = held.job, held.task, held.ctx
        try:
            args, kwargs = task.signature.unpack(json.loads(job.payload) if job.payload else {})
        except Exception as error:
            return ending.bad_input(error, task, job, self.owner)
        if task.signature.context is not None:
            if task.in_loop:
                ctx._alink = LoopLink(self.store, self.owner, job)
            else:
                ctx._link = ThreadLink(self.engine.portal.loop, LoopLink(self.store, self.owner, job))
            kwargs[task.signature.context] = ctx
        limit: asyncio.Timeout | None = None
        try:
            if task.in_loop:
                work = task.function(*args, **kwargs)
            else:
                work = self._threads.run(partial(task.function, *args, **kwargs))
            if task.timeout_ms is None:
                value = await work
            else:
                limit = asyncio.timeout(task.timeout_ms / 1_000)
                async with limit:
                    value = await work
        except TimeoutError as error:
            if limit is not None and limit.expired():
                ctx.stop_mode = "hard"
                if not task.in_loop:
                    self._threads.abandon()
                return ending.timed_out(task, job, self.owner)
            return ending.raised(error, task, job, self.engine.classifier, self.owner)
        except asyncio.CancelledError:
            return o.Cancelled("stopped")
        except (Exception, JobStopped) as error:
            return ending.raised(error, task, job, self.engine.classifier, self.owner)
        return ending.returned(value, ctx)

    async def _watch(self) -> None:
        """Progress out, requests to stop in: for jobs that run long enough for either to matter."""
        while True:
            await asyncio.sleep(WATCH_S)
            now_s = time.monotonic()
            long = [held for held in self.running.values() if now_s - held.since_s >= WATCH_S]
            if not long:
                continue
            try:
                await self._say_progress(long)
                for job in await self.store.reads.get_many([held.job.id for held in long]):
                    self._heed(job)
            except Exception as error:  # the database is away: nothing to hear, the leases are watched elsewhere
                log.warning("watch_failed", error=str(error))

    async def _say_progress(self, held: list[Running]) -> None:
        signals = []
        for one in held:
            progress = one.ctx.progress_state
            if progress.changed:
                progress.changed = False
                signals.append(Signal(one.job.id, one.job.attempt, "job_progress", self.owner, progress.to_json()))
        await self.store.signal(signals)

    def _heed(self, now: Job) -> None:
        held = self.running.get(now.id)
        if held is None:
            return
        if now.attempt != held.job.attempt or now.state not in LEASED:
            self._lose(now.id)
        elif now.cancel_requested is not None:
            held.ctx.stop_mode = now.cancel_requested

    def _lose(self, job_id: str) -> None:
        """The job is no longer ours: stop its handler, and let nothing of it be written."""
        held = self.running.pop(job_id, None)
        if held is None:
            return
        self.lost += 1
        held.ctx.stop_mode = "hard"
        log.warning("lease_lost", job_id=job_id, attempt=held.job.attempt)
        if held.run is not None:
            held.run.cancel()
        if not held.task.in_loop:
            self._threads.abandon()
        if self._heart is not None:
            self._heart.release([job_id])
        self._free.set()

    def _hand_back(self, job: Job, reason: str, delay_ms: int = 0) -> None:
        table = self.engine.table(job.lifecycle)
        row = table.find(job.state, Command.HAND_BACK)
        if row is None:
            self._let_go.append(Lease(job.id, job.attempt))
            return
        payload = f'{{"delay_ms":{delay_ms}}}' if delay_ms else None
        self.writer.add(table, (row,), Move(job.id, job.attempt, delay_ms, reason, payload=payload))

    async def _wrote(self, applied: Applied) -> None:
        if self._heart is not None:
            self._heart.release([*applied.versions, *(refusal.job_id for refusal in applied.refused)])
        self._free.set()
        self.engine.waker.wake()

    async def stop(self, grace_s: float = 30.0) -> None:
        """Stop claiming, let work end within the grace, hand back the rest at once."""
        self._stopping = True
        self._loops[0].cancel()
        runs = [held.run for held in self.running.values() if held.run is not None]
        if runs:
            await asyncio.wait(runs, timeout=grace_s)
        for held in list(self.running.values()):
            self.running.pop(held.job.id, None)
            held.ctx.stop_mode = "hard"
            if held.run is not None:
                held.run.cancel()
            self._hand_back(held.job, "worker_stopped")
        await self.writer.stop()
        await self.store.let_go(self.owner, self._let_go)
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        if self._heart is not None:
            await self._heart.stop()
        self._threads.close()


def summary(worker: Worker) -> dict[str, Any]:
    return {"written": worker.writer.written, "refused": worker.writer.refused, "lost": worker.lost}
