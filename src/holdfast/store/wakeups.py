"""Wakes whoever waits in this process, and tells other processes: once for all that comes within a moment."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.database import Driver

EVERY_S = 0.02
"""A ring per commit would cost more than the jobs."""


class Rings:
    """See `holdfast.store.port.Wakeups`. Only inside one event loop."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._count = 0
        self._event = asyncio.Event()
        self._rang_s = 0.0
        self._later: asyncio.Task[None] | None = None
        self.waiting = 0
        """How many wait now."""

    def ring(self) -> None:
        self.ring_near()
        if self._later is None or self._later.done():
            wait_s = max(0.0, self._rang_s + EVERY_S - time.monotonic())
            self._later = asyncio.create_task(self._announce(wait_s))

    def ring_near(self) -> None:
        self._count += 1
        self._event.set()

    async def _announce(self, wait_s: float) -> None:
        if wait_s:
            await asyncio.sleep(wait_s)
        self._rang_s = time.monotonic()
        await self._driver.announce()

    def ticket(self) -> int:
        return self._count

    async def wait(self, ticket: int, timeout_s: float) -> None:
        if self._count == ticket:
            self._event.clear()
            self.waiting += 1
            try:
                # Not wait_for: before Python 3.12 it swallows a cancellation that comes together with the event.
                with suppress(TimeoutError):
                    async with asyncio.timeout(timeout_s):
                        await self._event.wait()
            finally:
                self.waiting -= 1

    async def listen(self) -> None:
        await self._driver.listen(self.ring_near)

    async def close(self) -> None:
        """Tell others now, if it was about to."""
        if self._later is not None and not self._later.done():
            self._later.cancel()
            await self._driver.announce()
