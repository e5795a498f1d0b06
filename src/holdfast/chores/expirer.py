"""Ends what has outlived its expiry, and what has stood still for too long."""

from __future__ import annotations

from holdfast.chores.grouping import BATCH, grouped
from holdfast.kernel.settle import expired
from holdfast.store.port import Store


class Expirer:
    every_s = 1.0
    makes_work = True

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run_once(self, now_ms: int | None = None) -> int:
        ended = 0
        while jobs := await self._store.upkeep.expired(BATCH):
            applied = await self._store.jobs.apply(grouped(self._store.tables, jobs, expired, "expirer"))
            ended += len(applied.versions)
            if len(jobs) < BATCH or not applied.versions:
                break
        return ended
