"""Wakes idle workers of this process. Nothing depends on it: who is not woken looks again after a while."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Waker:
    """A ticket taken before looking makes sure that what came while looking is not slept through."""

    def __init__(self) -> None:
        self._count = 0
        self._event = asyncio.Event()

    def ticket(self) -> int:
        return self._count

    def wake(self) -> None:
        self._count += 1
        self._event.set()

    async def wait(self, ticket: int, timeout_s: float) -> None:
        if self._count == ticket:
            self._event.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._event.wait(), timeout_s)
