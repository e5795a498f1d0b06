"""The one door from synchronous callers to the asynchronous inside: an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

from holdfast.kernel.errors import HoldfastError

T = TypeVar("T")


class Portal:
    """Started at the first call. Never used from its own loop: that would wait for itself."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="holdfast", daemon=True)
                self._thread.start()
            return self._loop

    @property
    def is_here(self) -> bool:
        """Whether this is the loop's own thread."""
        return threading.current_thread() is self._thread

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        loop.close()

    def call(self, coroutine: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """Run a coroutine inside and wait for it."""
        if self.is_here:
            coroutine.close()
            raise HoldfastError(
                "a blocking call from inside the engine's own loop",
                remedy="await the asynchronous form instead: asubmit, aresult, …",
            )
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result(timeout_s)
        except KeyboardInterrupt:
            future.cancel()
            raise

    async def hop(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine inside and await it from another loop, or from this one."""
        if asyncio.get_running_loop() is self._loop:
            return await coroutine
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self.loop))

    def one_by_one(self, batches: AsyncGenerator[list[T]]) -> Iterator[T]:
        """Batches that come inside, for who takes single items outside."""
        try:
            while (items := self.call(_next(batches))) is not None:
                yield from items
        finally:
            self.call(_close(batches))

    async def aone_by_one(self, batches: AsyncGenerator[list[T]]) -> AsyncIterator[T]:
        try:
            while (items := await self.hop(_next(batches))) is not None:
                for item in items:
                    yield item
        finally:
            await self.hop(_close(batches))

    def close(self) -> None:
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


async def _next(batches: AsyncGenerator[list[T]]) -> list[T] | None:
    return await anext(batches, None)


async def _close(batches: AsyncGenerator[list[T]]) -> None:
    await batches.aclose()
