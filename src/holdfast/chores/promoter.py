"""Makes jobs more urgent whose deadline has passed."""

from __future__ import annotations

from holdfast.chores.grouping import BATCH
from holdfast.store.port import Store


class Promoter:
    every_s = 1.0
    makes_work = True

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run_once(self, now_ms: int | None = None) -> int:
        at_ms = await self._store.now_ms() if now_ms is None else now_ms
        promoted = 0
        while some := await self._store.upkeep.promote(at_ms, BATCH):
            promoted += some
        return promoted
