"""Rings a store's bell, once for all that comes within a moment: a ring per commit would cost more than the jobs."""

from __future__ import annotations

import asyncio
import time

from holdfast.store.database import Bell

EVERY_S = 0.02


class Announcer:
    """Only inside one event loop."""

    def __init__(self, bell: Bell) -> None:
        self._bell = bell
        self._rang_s = 0.0
        self._later: asyncio.Task[None] | None = None

    def ring(self) -> None:
        """Soon: at once when it was silent for a while."""
        if self._later is None or self._later.done():
            wait_s = max(0.0, self._rang_s + EVERY_S - time.monotonic())
            self._later = asyncio.create_task(self._ring(wait_s))

    async def _ring(self, wait_s: float) -> None:
        if wait_s:
            await asyncio.sleep(wait_s)
        self._rang_s = time.monotonic()
        await self._bell.announce()

    async def close(self) -> None:
        """Ring now, if it was about to."""
        if self._later is not None and not self._later.done():
            self._later.cancel()
            await self._bell.announce()
