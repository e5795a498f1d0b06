"""What workers share through the database: who is there, and which queues are paused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from holdfast.observe.logs import get_logger
from holdfast.store.port import Store

SEEN_EVERY_S = 5.0
PAUSES_FOR_S = 1.0
"""How old what we know of pauses may be."""
FORGET_MS = 24 * 3_600_000
"""A worker that was not seen for this long did not say goodbye, and will not."""

log = get_logger("holdfast.roster")


class Presence:
    """One worker's entry, kept fresh, and its view of the queues."""

    def __init__(self, store: Store, owner: str, queues: Mapping[str, int], concurrency: int) -> None:
        self._store = store
        self._owner = owner
        self._queues = queues
        self._concurrency = concurrency
        self._open: Mapping[str, int] = queues
        self._looked_s = -PAUSES_FOR_S

    async def open_queues(self) -> Mapping[str, int]:
        """The worker's queues but for those that are paused, with their weights."""
        now_s = time.monotonic()
        if now_s - self._looked_s >= PAUSES_FOR_S:
            paused = await self._store.admin.queues.pauses()
            self._looked_s = now_s
            self._open = {name: weight for name, weight in self._queues.items() if name not in paused}
        return self._open

    async def run(self, stats: Callable[[], Mapping[str, int]]) -> None:
        while True:
            try:
                await self.seen(stats())
            except Exception as error:  # nobody's work depends on it
                log.warning("not_seen", error=str(error))
            await asyncio.sleep(SEEN_EVERY_S)

    async def seen(self, stats: Mapping[str, int]) -> None:
        await self._store.admin.workers.seen(self._owner, self._queues, self._concurrency, stats)

    async def gone(self) -> None:
        await self._store.admin.workers.gone(self._owner, FORGET_MS)
