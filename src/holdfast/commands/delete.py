"""Delete: finished jobs go with everything that belongs to them, and that is on record."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.chores.sealer import Sealer
from holdfast.kernel.decisions import NotNowError
from holdfast.kernel.lifecycle import is_over
from holdfast.kernel.state import OVER, RANK
from holdfast.store.port import Ask, Facts, Store
from holdfast.views.find import get_job


async def delete(store: Store, job_ids: Sequence[str], ask: Ask | None = None) -> Facts:
    """NotAllowedError for a living job."""
    jobs = [await get_job(store, job_id) for job_id in job_ids]
    for job in jobs:
        table = await store.table(job.lifecycle)
        if not is_over(table, job.state):
            first = "wait until it is cleaned" if RANK[job.state] >= OVER else f"holdfast job cancel {job.id}, first"
            raise NotNowError(job, table, "delete", first)
    await Sealer(store).seal_all()  # what is not sealed yet cannot go: nothing would tell that it was there
    return await store.upkeep.remove([job.id for job in jobs], ask or Ask())
