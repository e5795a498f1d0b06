"""A pool of threads. One that does not come back is left behind, and another takes its place."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any

Work = Callable[[], Any]
Answer = tuple[Any, BaseException | None]


class Threads:
    """Hands work to idle threads, up to `size` of them; results come back to the loop that asked.

    Work finds the context variables of who asked for it.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._work: queue.SimpleQueue[tuple[contextvars.Context, Work, asyncio.Future[Answer]] | None]
        self._work = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._alive = 0
        self._idle = 0

    async def run(self, work: Work) -> Any:
        return unwrapped(await self.begin(work))

    def begin(self, work: Work) -> asyncio.Future[Answer]:
        """Hand it to a thread; what comes of it is for `unwrapped`."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        with self._lock:
            start = self._idle <= 0 and self._alive < self._size
            if start:
                self._alive += 1
            else:
                self._idle -= 1
        self._work.put((contextvars.copy_context(), work, future))
        if start:
            threading.Thread(target=self._serve, name="holdfast-job", daemon=True).start()
        return future

    def abandon(self) -> None:
        """A thread is stuck in a handler that was given up: allow another in its place."""
        with self._lock:
            self._size += 1

    def _serve(self) -> None:
        while (item := self._work.get()) is not None:
            context, work, future = item
            result: Any = None
            error: BaseException | None = None
            if not future.cancelled():
                try:
                    result = context.run(work)
                except BaseException as raised:
                    error = raised
            with self._lock:
                self._idle += 1
            try:
                future.get_loop().call_soon_threadsafe(_answer, future, result, error)
            except RuntimeError:
                return  # the loop is closed: nobody waits for this any more

    def close(self) -> None:
        for _ in range(self._alive):
            self._work.put(None)


def unwrapped(answer: Answer) -> Any:
    result, error = answer
    if error is not None:
        raise error
    return result


def _answer(future: asyncio.Future[Answer], result: Any, error: BaseException | None) -> None:
    # As a pair: a future refuses some exceptions, and warns of those that nobody asks for.
    if not future.done():
        future.set_result((result, error))
