"""Wakes idle workers of this process. Nothing depends on it: who is not woken looks again after a while."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any


class Waker:
    """A ticket taken before looking makes sure that what came while looking is not slept through."""

    def __init__(self) -> None:
        self._count = 0
        self._event = asyncio.Event()
        self.waiting = 0
        """How many wait now."""

    def ticket(self) -> int:
        return self._count

    def wake(self) -> None:
        self._count += 1
        self._event.set()

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


async def first_of(*waits: Coroutine[Any, Any, object], timeout_s: float) -> None:
    """Wait for one of these, for no longer than the timeout."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    await asyncio.wait(tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
