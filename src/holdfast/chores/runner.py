"""Runs the chores: each when it is due, none in the way of another, in any number of processes at once."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Protocol

from holdfast import catalog
from holdfast.chores.expirer import Expirer
from holdfast.chores.promoter import Promoter
from holdfast.chores.pruner import Pruner
from holdfast.chores.reaper import Reaper
from holdfast.chores.scheduler import Scheduler
from holdfast.chores.sealer import Sealer
from holdfast.chores.sweeper import Sweeper
from holdfast.observe.logs import get_logger
from holdfast.store.port import Store

log = get_logger("holdfast.chores")


class Chore(Protocol):
    """One small thing that is done again and again, made with the store that it is done for."""

    every_s: float
    makes_work: bool
    """Whether what it does may leave workers something to claim."""

    async def run_once(self, now_ms: int | None = None) -> object: ...


OURS: tuple[Callable[[Store], Chore], ...] = (Reaper, Expirer, Scheduler, Promoter, Sealer, Pruner, Sweeper)
BUSY_SHARE, IDLE_SHARE = 0.03, 0.5
"""What of a process's time a sealer that is behind may take, beside workers that run jobs and beside such that wait."""


class Chores:
    def __init__(self, store: Store) -> None:
        self._chores = [make(store) for make in OURS]
        catalog.brought("chores", lambda make: self._chores.append(make(store)))
        self._wakeups = store.wakeups
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._loop(chore), name=f"holdfast-{type(chore).__name__.lower()}")
            for chore in self._chores
        ]

    async def _loop(self, chore: Chore) -> None:
        every_s = chore.every_s
        pause_s = _jittered(every_s)
        while True:
            await asyncio.sleep(pause_s)
            began_s, pause_s = time.monotonic(), _jittered(every_s)
            share = IDLE_SHARE if self._wakeups.waiting else BUSY_SHARE
            try:
                if await chore.run_once() and chore.makes_work:
                    self._wakeups.ring_near()
            except Exception as error:  # a chore that fails today is tried again: it is nobody's job to die of it
                log.warning("chore_failed", chore=type(chore).__name__.lower(), error=str(error))
            else:
                if isinstance(chore, Sealer) and chore.behind:
                    pause_s = min(pause_s, (time.monotonic() - began_s) * (1 / share - 1))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _jittered(every_s: float) -> float:
    """Many processes do not all come at once."""
    return every_s * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing
