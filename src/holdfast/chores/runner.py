"""Runs the chores: each when it is due, none in the way of another, in any number of processes at once."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Protocol

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
    """One small thing that is done again and again."""

    async def run_once(self, now_ms: int | None = None) -> object: ...


EVERY_S = {
    "reaper": 1.0,
    "expirer": 1.0,
    "scheduler": 1.0,
    "promoter": 1.0,
    "sealer": 2.0,
    "pruner": 60.0,
    "sweeper": 60.0,
}
MAKES_WORK = {"reaper", "expirer", "scheduler", "promoter"}
BUSY_SHARE, IDLE_SHARE = 0.03, 0.5
"""What of a process's time a sealer that is behind may take, beside workers that run jobs and beside such that wait."""


class Chores:
    def __init__(self, store: Store) -> None:
        self._chores: dict[str, Chore] = {
            "reaper": Reaper(store),
            "expirer": Expirer(store),
            "scheduler": Scheduler(store),
            "promoter": Promoter(store),
            "sealer": Sealer(store),
            "pruner": Pruner(store),
            "sweeper": Sweeper(store),
        }
        self._wakeups = store.wakeups
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._loop(name), name=f"holdfast-{name}") for name in self._chores]

    async def _loop(self, name: str) -> None:
        chore, every_s = self._chores[name], EVERY_S[name]
        pause_s = _spread(every_s)
        while True:
            await asyncio.sleep(pause_s)
            began_s, pause_s = time.monotonic(), _spread(every_s)
            share = IDLE_SHARE if self._wakeups.waiting else BUSY_SHARE
            try:
                if await chore.run_once() and name in MAKES_WORK:
                    self._wakeups.ring_here()
            except Exception as error:  # a chore that fails today is tried again: it is nobody's job to die of it
                log.warning("chore_failed", chore=name, error=str(error))
            else:
                if isinstance(chore, Sealer) and chore.behind:
                    pause_s = min(pause_s, (time.monotonic() - began_s) * (1 / share - 1))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _spread(every_s: float) -> float:
    """Many processes do not all come at once."""
    return every_s * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing
