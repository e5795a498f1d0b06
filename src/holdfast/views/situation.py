"""Gathers what `explain` goes by: a handful of small reads, each only where it can matter."""

from __future__ import annotations

from holdfast.kernel.job import Job
from holdfast.kernel.state import LEASED, Canonical
from holdfast.store.port import Store
from holdfast.views.explain import LATELY_MS, Explanation, Situation, explain
from holdfast.views.find import get_job
from holdfast.views.job import progress_view
from holdfast.views.of_systems import views_of
from holdfast.views.queues import living

BEATS = ("job_lease_renewed", "job_heartbeat")


async def explain_job(store: Store, job_id: str, app: str | None = None) -> Explanation:
    """Why a job is where it is, and the command that helps."""
    return explain(await situation_of(store, await get_job(store, job_id), app))


async def situation_of(store: Store, job: Job, app: str | None = None) -> Situation:
    events = await store.reads.events(job.id)
    last = events[-1] if events else None
    about = Situation(
        job,
        await store.table(job.lifecycle),
        await store.now_ms(),
        last=last,
        app=app or "module:app",
        own=await views_of(job.lifecycle).words(store, job, last),
    )
    operating = store.admin.queues
    is_claimable = job.state in about.table.claimable
    if is_claimable:
        about.pause = (await operating.pauses()).get(job.queue)
        if job.due_at_ms <= about.now_ms:
            about.claimed_at_ms = await operating.claimed_at_ms(job.queue, about.now_ms - LATELY_MS)
            about.ahead = await operating.ahead(job)
            about.limit = await operating.limit(job)
    if is_claimable or job.state in LEASED:
        crew = living(await store.admin.workers.list(), about.now_ms)
        about.workers = sum(job.queue in worker.queues for worker in crew)
    if job.state in LEASED:
        signals = await store.reads.signals(job.id)
        beats = [signal.at_ms for signal in signals if signal.attempt == job.attempt and signal.type in BEATS]
        about.beat_at_ms = max(beats, default=None)
        if progress := progress_view(job, signals):
            about.done, about.total = progress["done"], progress["total"]
    if job.state == Canonical.DEAD_LETTERED:
        about.letter = next(iter(await store.admin.dead.of([job.id])), None)
    return about
