"""How a context reaches its job's link from where its handler runs."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from holdfast.executors.port import JobLink
from holdfast.kernel.errors import LeaseConflictError

T = TypeVar("T")


class ThreadLink:
    """From a handler's thread: each call waits for the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, link: JobLink) -> None:
        self._loop = loop
        self._link = link

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def load_step(self, name: str) -> str | None:
        return self._wait(self._link.load_step(name))

    def save_step(self, name: str, result: str) -> None:
        self._wait(self._link.save_step(name, result))

    def save_checkpoint(self, data: str) -> None:
        self._wait(self._link.save_checkpoint(data))

    def save_artifact(self, name: str, data: bytes) -> None:
        self._wait(self._link.save_artifact(name, data))


class FrameLink:
    """From a handler's process: its calls come as frames, and go back as answers."""

    METHODS = ("load_step", "save_step", "save_checkpoint", "save_artifact")

    def __init__(self, link: JobLink) -> None:
        self._link = link

    async def answer(self, method: str, *arguments: Any) -> list[Any]:
        try:
            if method not in self.METHODS:
                raise AttributeError(f"a context has no {method}")
            return ["answer", await getattr(self._link, method)(*arguments), None]
        except LeaseConflictError as error:
            return ["answer", None, ["lease_conflict", error.message]]
        except Exception as error:  # the database's trouble is the handler's to hear of, not the worker's to die of
            return ["answer", None, ["error", str(error)]]
