"""How a context reaches its job's link from where its handler runs."""

from __future__ import annotations

import asyncio
from typing import Any

from holdfast.executors.port import JobLink
from holdfast.kernel.errors import LeaseConflictError
from holdfast.tasks.context import Link


class ThreadLink(Link):
    """From a handler's thread: each call waits for the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, link: JobLink) -> None:
        self._loop = loop
        self._link = link

    def call(self, method: str, *arguments: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(getattr(self._link, method)(*arguments), self._loop).result()


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
