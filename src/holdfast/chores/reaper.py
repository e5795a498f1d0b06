"""Takes back what was lost: jobs whose lease ran out go on to their next attempt, or to their end."""

from __future__ import annotations

from holdfast.chores.grouping import BATCH, grouped
from holdfast.kernel.settle import lost
from holdfast.observe.logs import get_logger
from holdfast.store.port import Store

log = get_logger("holdfast.reaper")


class Reaper:
    """Selects by lease expiry alone and pages through everything. Any number of them may run at once."""

    every_s = 1.0
    makes_work = True

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run_once(self, now_ms: int | None = None) -> int:
        taken = 0
        while jobs := await self._store.upkeep.lost(BATCH):
            changes = grouped(self._store.tables, jobs, lost, "reaper")
            applied = await self._store.jobs.apply(changes)
            taken += len(applied.versions)
            for job in jobs:
                log.warning("lease_expired", job_id=job.id, owner=job.lease_owner, attempt=job.attempt)
            if len(jobs) < BATCH or not applied.versions:
                break
        return taken
