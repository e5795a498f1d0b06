"""Takes a job that is in the worker's hands to its outcome: by its executor, with what goes on around the run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pkgutil import resolve_name

from holdfast.executors import ending
from holdfast.executors.compensation import Undoes, compensate, failed_for_good
from holdfast.executors.port import Crashed, Site
from holdfast.executors.python import RAISED
from holdfast.executors.table import Executors
from holdfast.kernel.job import Failure, Job
from holdfast.kernel.move import Follow
from holdfast.kernel.outcome import Outcome
from holdfast.observe import tracing
from holdfast.store.port import Store
from holdfast.tasks.around import Around, Instead
from holdfast.tasks.registry import Registry
from holdfast.worker.held import Held

CLOSE_S = 2.0
Ended = Callable[[Held, Outcome | Crashed, Follow | None], None]
Late = Callable[[Held], None]


class Runs:
    """Those of one worker. `ended` is told what came of each, `late` when one takes longer than its terms allow."""

    def __init__(self, store: Store, registry: Registry, site: Site, ended: Ended, late: Late) -> None:
        self._store = store
        self._registry = registry
        self._classifier = site.classifier
        self._ended = ended
        self._late = late
        self._executors = Executors(registry.executors, site)
        self._arounds: dict[str, Around] = {}
        self._loop = asyncio.get_running_loop()

    async def run(self, held: Held) -> bool:
        """Whether it was ours to its end. Raises nothing but the cancellation of a job that was ended meanwhile."""
        around = self._around(held.job.lifecycle) if held.job.lifecycle in self._registry.arounds else None
        outcome: Outcome | Crashed
        follow: Follow | None = None
        with tracing.process(held.job) as running:
            try:
                prepared = held.job if around is None else await around.before(held.job)
                if isinstance(prepared, Instead):
                    outcome, follow = prepared
                else:
                    held.job = prepared
                    executor = self._executors.of(held.task.work.executor)
                    handle = None if held.lost is None else await executor.adopt(held, held.lost)
                    if handle is None:
                        handle = await executor.start(held)
                    held.begun(handle)
                    if held.terms.timeout_ms is not None:
                        self._limit(held, held.terms.timeout_ms / 1_000)
                    outcome = await handle.outcome()
                    if around is not None and not isinstance(outcome, Crashed):
                        follow = await around.after(held.job, outcome)
            except RAISED as error:
                outcome = self._raised(held, error)
            finally:
                if held.timer is not None:
                    held.timer.cancel()
            if held.late:
                outcome = ending.timed_out(held.terms.timeout_ms, held.job, held.owner)
            if held.task.compensate is not None and not held.over and not isinstance(outcome, Crashed):
                outcome = await self._undone(held, held.task.compensate, outcome)
            running.ended(outcome)
        if held.over:
            return False  # taken from us meanwhile: whatever came out of it counts for nothing
        self._ended(held, outcome, follow)
        held.handle = None  # which knows its run: left to the collector, the two cost more than the run of a short job
        return True

    async def _undone(self, held: Held, undoes: Undoes, outcome: Outcome) -> Outcome:
        """The outcome once more, after the steps of a job that failed for good were undone as its task says."""
        failure = failed_for_good(outcome, held.job)
        if failure is None:
            return outcome
        try:
            return await compensate(held.link, undoes, failure)
        except RAISED as error:
            return self._raised(held, error)

    def _raised(self, held: Held, error: BaseException) -> Outcome:
        if held.over:
            raise asyncio.CancelledError from None
        return ending.raised(error, held.task.on_exhausted, held.job, self._classifier, held.owner)

    def _limit(self, held: Held, seconds: float) -> None:
        held.ends_s = time.monotonic() + seconds
        held.timer = self._loop.call_later(seconds, self._late, held)

    def _around(self, lifecycle: str) -> Around:
        if lifecycle not in self._arounds:
            self._arounds[lifecycle] = resolve_name(self._registry.arounds[lifecycle])(self._registry, self._store)
        return self._arounds[lifecycle]

    async def close(self) -> None:
        await self._executors.close(CLOSE_S)


def crash(crashed: Crashed, job: Job) -> Failure:
    """How the death of a run's place is recorded."""
    failure = crashed.failure
    return failure._replace(context={"attempt": job.attempt, "worker_id": job.lease_owner, **failure.context})
