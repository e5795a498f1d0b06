"""Resume: a cancelled job goes on, where its lifecycle has that; a flow with all its nodes."""

from __future__ import annotations

from holdfast.kernel import decisions
from holdfast.kernel.job import Job
from holdfast.store.port import Ask, Store


async def resume(store: Store, job_id: str, reason: str, actor: str = "client") -> Job:
    done = await store.jobs.change([job_id], decisions.resume(reason), Ask(actor))
    [job] = done.jobs.values()
    return job
