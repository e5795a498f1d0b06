"""A worker: claims, runs handlers, hands what they ended with to the writer."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import time
from collections.abc import Coroutine
from functools import partial
from typing import Any

from uuid_utils import uuid4

from holdfast.executors import ending, process_main
from holdfast.executors.port import Crashed, Site
from holdfast.kernel import outcome as o
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import Change, Follow, Move
from holdfast.kernel.settle import lost, settle, stop_reason
from holdfast.observe.logs import get_logger
from holdfast.store.port import Lease
from holdfast.tasks.own_terms import terms_of
from holdfast.worker.application import Application
from holdfast.worker.held import Held
from holdfast.worker.letting_go import LettingGo
from holdfast.worker.link import StoreLink
from holdfast.worker.presence import Presence
from holdfast.worker.renewer import Renewer, renewed_soon
from holdfast.worker.runs import Runs, crash
from holdfast.worker.slots import Slots
from holdfast.worker.watch import Watch
from holdfast.worker.weights import Queues, weights
from holdfast.worker.writer import Writer

POLL_S = 1.0
UNKNOWN_TASK_DELAY_MS = 5_000
LAST_WRITE_S = 10.0
"""How long a worker that stops waits for a database that is away; what it cannot say then, its leases say by ending."""

log = get_logger("holdfast.worker")


class Worker:
    """Runs on the application's loop. `start`, then `stop`; nothing that it holds is lost in between."""

    def __init__(
        self, application: Application, *, queues: Queues | None = None, concurrency: int = 10, heartbeat: bool = True
    ) -> None:
        if process_main.inside:
            raise HoldfastError(
                "a worker was started while a task's process loads the script that declares it",
                remedy='start workers under `if __name__ == "__main__":`',
            )
        if concurrency < 1:
            raise HoldfastError(f"concurrency is {concurrency!r}", field="concurrency", remedy="1 or more")
        self.application = application
        self.queues = application.registry.queues() if queues is None else weights(queues)
        self.concurrency = concurrency
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{str(uuid4())[:8]}"
        self.running: dict[str, Held] = {}
        self.claimed = 0
        self.lost = 0
        self._alike = len(set(self.queues.values())) == 1
        self._stopping = False
        self._hurry = asyncio.Event()
        self._free = asyncio.Event()
        self._claiming: asyncio.Task[None] | None = None
        self._loops: list[asyncio.Task[None]] = []
        self.renewer: Renewer | None = None
        self._renews = heartbeat

    async def start(self) -> None:
        self.store = await self.application.opened()
        self.writer = Writer(self.store, self.owner, self._wrote)
        self.writer.start()
        site = Site(self.concurrency, self.application.classifier)
        self._runs = Runs(self.store, self.application.registry, site, self._ended, self._time_out)
        self._links = partial(StoreLink, self.store, self.owner)
        self._slots = Slots(self._runs.run)
        self._letting_go = LettingGo(self.store, self.owner)
        self._watch = Watch(self.store, self.owner, self.running, self._lose)
        self._presence = Presence(self.store, self.owner, self.queues, self.concurrency)
        await self._presence.seen(self.stats())
        if self._renews:
            renew = partial(self.store.jobs.renew, self.owner)
            at_once = renewed_soon(self.application.registry)
            self.renewer = Renewer(self.application.url, self.owner, self._lose, renew, at_once=at_once)
            await self.renewer.start()
        self._claiming = asyncio.create_task(self._claim(), name="holdfast-claim")
        self._loops = [
            asyncio.create_task(self._watch.run(), name="holdfast-watch"),
            asyncio.create_task(self._presence.run(self.stats), name="holdfast-presence"),
            asyncio.create_task(self.store.wakeups.listen(), name="holdfast-listen"),
        ]

    def stats(self) -> dict[str, int]:
        renewer, writer = self.renewer, self.writer
        figures = {"running": len(self.running), "claimed": self.claimed, "written": writer.written, "lost": self.lost}
        return figures | {"refused": writer.refused, "renewed": renewer.renewals if renewer else 0}

    async def _claim(self) -> None:
        """Claim up to the free slots, for as long as the worker runs."""
        wakeups = self.store.wakeups
        looked_over_s = 0.0
        while not self._stopping:
            free = self.concurrency - len(self.running)
            if self._slots.waiting:
                await asyncio.sleep(0)  # a slot is on its way to them: what it runs may take for ever
                continue
            if free <= 0 or self.writer.pending > 4 * self.concurrency:
                self._free.clear()
                await self._free.wait()
                continue
            ticket = wakeups.ticket()
            since_s = time.monotonic()
            try:
                jobs, lost = await self._take(free), False
                if not jobs and since_s - looked_over_s >= POLL_S:
                    looked_over_s, lost = since_s, True
                    jobs = await self.store.jobs.take_over(await self._presence.open_queues(), free, self.owner)
            except Exception as error:  # the database is away: the claim is tried again, whatever it was
                log.warning("claim_failed", error=str(error))
                await asyncio.sleep(POLL_S)
                continue
            if jobs:
                self._dispatch(jobs, since_s, lost)
            else:
                opens_in_s = self.store.jobs.opens_in_s
                await wakeups.wait(ticket, POLL_S if opens_in_s is None else min(POLL_S, opens_in_s))

    async def _take(self, limit: int) -> list[Job]:
        queues = await self._presence.open_queues()
        return await self.store.jobs.claim(list(queues) if self._alike else queues, limit, self.owner) if queues else []

    def _dispatch(self, jobs: list[Job], since_s: float, lost: bool) -> None:
        self.claimed += len(jobs)
        if self._stopping:
            for job in jobs:
                self._hand_back(job, "worker_stopped")
            return
        known: list[Held] = []
        alike: dict[tuple[int, int | None], list[Job]] = {}
        for job in jobs:
            if (before := self.running.get(job.id)) is not None:  # lost without our noticing, and ours again
                self._lose(job.id, before.job.attempt, "lease_lost")
            task = self.application.registry.of(job, self.application.tables)
            if task is None:
                self._hand_back(job, "unknown_task", UNKNOWN_TASK_DELAY_MS)
                continue
            since = job.attempt - 1 if lost else None
            known.append(held := Held(job, task, self._links, None, terms_of(job, task), since_s, since))
            alike.setdefault((task.lifecycle.policies.heartbeat_ms, held.terms.timeout_ms), []).append(job)
        if self.renewer is not None:
            for (heartbeat_ms, timeout_ms), held_alike in alike.items():
                self.renewer.hold(held_alike, heartbeat_ms, since_s, timeout_ms)
        self.running.update((held.job.id, held) for held in known)
        self._slots.add(known)

    def _ended(self, held: Held, outcome: o.Outcome | Crashed, follow: Follow | None) -> None:
        del self.running[held.job.id]
        if isinstance(outcome, Crashed):
            self._crashed(held, outcome)
        else:
            self._settle(held, outcome, follow)
        self._free.set()

    def _settle(self, held: Held, outcome: o.Outcome, follow: Follow | None = None) -> None:
        task = held.task
        if held.asked is not None and isinstance(outcome, o.Retry | o.TimedOut):
            outcome = o.Cancelled(stop_reason(held.asked))  # not once more what nobody wants any more
        path, move = settle(
            task.lifecycle,
            held.job,
            outcome,
            chance=random.random(),  # noqa: S311 - spreads back-offs, guards nothing
            retry=held.terms.retry,
            on_exhausted=task.on_exhausted,
            notes=held.notes(),
        )
        if follow is not None:
            move = move._replace(follow=follow)
        self.writer.add(task.lifecycle, path, move, self._watch.words(held))

    def _crashed(self, held: Held, crashed: Crashed) -> None:
        """A run that took its process along is a loss: the lifecycle's budget of crashes decides how often."""
        job, table = held.job, held.task.lifecycle
        log.warning("process_died", job_id=job.id, attempt=job.attempt, error=crashed.failure.message)
        if table.find(job.state, Command.LOSE) is None and job.losses + 1 < table.policies.crash_budget:
            self._let_go(job)
            return
        path, move = lost(table, job, crash(crashed, job))
        self.writer.add(table, path, move, self._watch.words(held))

    def _time_out(self, held: Held) -> None:
        """Ended here and now, whatever its handler makes of it."""
        if self.running.pop(held.job.id, None) is held:
            held.end()
            self._release(held.job)  # whatever becomes of the write: this run's lease is not renewed any more
            self._settle(held, ending.timed_out(held.terms.timeout_ms, held.job, self.owner))
            self._free.set()

    def _lose(self, job_id: str, attempt: int, why: str) -> None:
        """The job is no longer ours: stop its handler, and let nothing of it be written."""
        held = self.running.get(job_id)
        if held is None or held.job.attempt != attempt:
            return
        del self.running[job_id]
        held.end()
        if why != "cancelled":
            self.lost += 1
        self._watch.ended(held)
        log.warning("job_lost", job_id=job_id, attempt=attempt, why=why)
        self._release(held.job)
        self._free.set()

    def _release(self, job: Job) -> None:
        if self.renewer is not None:
            self.renewer.release([(job.id, job.attempt)])

    def _hand_back(self, job: Job, reason: str, delay_ms: int = 0) -> None:
        table = self.application.tables[job.lifecycle]
        row = table.find(job.state, Command.HAND_BACK)
        if row is None:
            self._let_go(job)
            return
        payload = f'{{"delay_ms":{delay_ms}}}' if delay_ms else None
        self.writer.add(table, (row,), Move(job.id, job.attempt, delay_ms, reason, payload=payload))

    def _let_go(self, job: Job) -> None:
        self._release(job)
        self._letting_go.end(Lease(job.id, job.attempt))

    def _wrote(self, changes: list[Change]) -> None:
        if self.renewer is not None:
            self.renewer.release([move[:2] for change in changes for move in change.moves])
        self._free.set()
        if self.store.jobs.limited or any(change.lifecycle.in_graphs for change in changes):
            self.store.wakeups.ring()  # what ended may have made room for another, or was waited for
        elif any(change.path[-1].target.value in change.lifecycle.claimable for change in changes):
            self.store.wakeups.ring_near()

    def hurry(self) -> None:
        """Wait no longer for what still runs."""
        self._hurry.set()

    async def stop(self, grace_s: float = 30.0) -> None:
        """Stop claiming, let work end within the grace, hand back the rest at once."""
        self._stopping = True
        self._free.set()
        self.store.wakeups.ring_near()
        if self._claiming is not None:
            # Not cancelled while it may be at it: what it has won would wait for its lease to end.
            await asyncio.wait([self._claiming], timeout=LAST_WRITE_S)
            self._claiming.cancel()
        deadline_s = time.monotonic() + grace_s
        while self.running and not self._hurry.is_set() and (left_s := deadline_s - time.monotonic()) > 0:
            self._free.clear()
            await first_of(self._free.wait(), self._hurry.wait(), timeout_s=left_s)
        for held in list(self.running.values()):
            del self.running[held.job.id]
            held.end()
            self._watch.ended(held)
            self._hand_back(held.job, "worker_stopped")
        await self.writer.stop(LAST_WRITE_S)
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        await self._farewell()
        if self.renewer is not None:
            await self.renewer.stop()
        await self._slots.close()
        await self._runs.close()

    async def _farewell(self) -> None:
        try:
            async with asyncio.timeout(LAST_WRITE_S):
                await self._letting_go.done()
                await self._watch.say_progress(time.monotonic())
                await self._presence.gone()
        except Exception as error:  # the database is away: leases and entry run out by themselves
            log.warning("farewell_failed", error=str(error))


async def first_of(*waits: Coroutine[Any, Any, object], timeout_s: float) -> None:
    """Wait for one of these, for no longer than the timeout."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    await asyncio.wait(tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
