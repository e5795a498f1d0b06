"""The triggers of a crawl under the names of its document, for workers that run their jobs elsewhere.

A worker of ours gives them by itself. One that is no process of ours (a crawler in another language, behind an API)
calls them one by one; each carries the attempt that `start` gave it, and is refused when that is over.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from holdfast.commands.cancel import cancel
from holdfast.kernel.classify import Classifier, retryable
from holdfast.kernel.errors import ErrorClass, LeaseConflictError
from holdfast.kernel.event import PROGRESS
from holdfast.kernel.job import Failure, Job, Spec
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.move import Change
from holdfast.kernel.outcome import Done, Fail, Outcome, Retry
from holdfast.kernel.payload.encoding import encode
from holdfast.kernel.settle import settle
from holdfast.store.port import Lease, Signal, Store
from holdfast.views.find import get_job


class Triggers:
    """One worker's hold on the jobs of its queues."""

    def __init__(self, store: Store, worker: str, queues: tuple[str, ...] = ("default",)) -> None:
        self._store = store
        self._worker = worker
        self._queues = queues
        self._classifier = Classifier()

    async def accept(self, spec: Spec) -> str:
        """Queue a job; its id, or that of the job that holds its key."""
        [answer] = await self._store.jobs.submit([spec])
        return answer.job_id

    async def start(self) -> Job | None:
        """The next job, running and ours until its lease ends; None when there is none."""
        jobs = await self._store.jobs.claim(self._queues, 1, self._worker)
        return jobs[0] if jobs else None

    async def heartbeat(self, job: Job) -> None:
        """Keep the job: its lease starts anew. LeaseConflictError when it is ours no more."""
        if await self._store.jobs.renew(self._worker, [Lease(job.id, job.attempt)]):
            raise _lost(job)

    async def progress(self, job: Job, done: float, total: float | None = None, **counters: float) -> None:
        """Say how far the job is: its counters, and with a total its ETA."""
        payload = encode({"done": done, "total": total, "counters": counters}, what="progress")
        await self._store.jobs.signal([Signal(job.id, job.attempt, PROGRESS, self._worker, payload)])

    async def complete(self, job: Job, stats: Any = None) -> Job:
        """End the job well, with its stats as the result."""
        return await self._end(job, Done(None if stats is None else encode(stats, what="stats")))

    async def error(self, job: Job, code: str, message: str, context: Mapping[str, object] | None = None) -> Job:
        """Say what went wrong: a transient code is tried again after a while, any other ends the job as failed."""
        kind = self._classifier.classify(code) or ErrorClass.TRANSIENT
        around = {"attempt": job.attempt, "worker_id": self._worker, **(context or {})}
        failure = Failure(code, kind.value, message, around)
        return await self._end(job, Retry(failure) if retryable(kind) else Fail(failure))

    async def cancel(self, job_id: str, reason: str = "cancelled") -> Job:
        """Stop a job: at once while nobody runs it, else by asking its worker."""
        return await cancel(self._store, job_id, reason, actor=self._worker)

    async def _end(self, job: Job, outcome: Outcome) -> Job:
        table: Lifecycle = self._store.tables[job.lifecycle]
        path, move = settle(table, job, outcome, chance=random.random())  # noqa: S311 - spreads back-offs
        applied = await self._store.jobs.apply([Change(table, path, self._worker, [move], self._worker)])
        if applied.refused:
            raise _lost(job)
        return await get_job(self._store, job.id)


def _lost(job: Job) -> LeaseConflictError:
    return LeaseConflictError(f"job {job.id} is no longer ours", context={"attempt": job.attempt})
