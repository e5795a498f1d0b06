"""Slots: a few long-lived tasks run one job after another. A task for every job would cost more than a short job."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

from holdfast.worker.held import Held

TURN_S = 0.01
"""A slot whose handlers never wait lets others have the loop after this long."""


class Slots:
    """Grows to as many tasks as jobs that wait at once.

    `run` says whether the job was its own to the end. It raises nothing but the cancellation of a job that was ended.
    """

    def __init__(self, run: Callable[[Held], Awaitable[bool]]) -> None:
        self._run = run
        self._ready: deque[Held] = deque()
        self._idle: list[asyncio.Future[None]] = []
        self._coming = False
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, jobs: Iterable[Held]) -> None:
        self._ready.extend(jobs)
        if self._ready and not self._coming:
            self._call()

    @property
    def waiting(self) -> bool:
        """Whether jobs are here that no slot has come to yet."""
        return bool(self._ready)

    def _call(self) -> None:
        """Bring one slot to work. It brings the next: where handlers never wait, one slot does it all."""
        self._coming = True
        while self._idle:
            free = self._idle.pop()
            if not free.done():
                free.set_result(None)
                return
        task = asyncio.get_running_loop().create_task(self._serve(), name="holdfast-slot")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self) -> None:
        me = asyncio.current_task()
        ready = self._ready
        loop = asyncio.get_running_loop()
        while True:
            self._coming = False
            turn_s = time.monotonic() + TURN_S
            while ready:
                held = ready.popleft()
                if held.over:
                    continue
                held.runner = me
                if ready and not self._coming:
                    self._call()
                if not await self._run(held):
                    return  # ended while it ran: this task carries a cancellation and is not used again
                if time.monotonic() > turn_s:
                    await asyncio.sleep(0)
                    turn_s = time.monotonic() + TURN_S
            free = loop.create_future()
            self._idle.append(free)
            await free

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        # A handler that swallows its cancellation is not waited for.
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)
