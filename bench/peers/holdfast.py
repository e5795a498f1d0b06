"""Holdfast itself, as a user has it: an engine, a task, a worker with its heartbeat and its chores."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from bench.peers.line import Peer, main
from holdfast import Engine

CONCURRENCY = 100


class Holdfast(Peer):
    package = "holdfast"
    left = "SELECT (SELECT count(*) FROM holdfast_job) - (SELECT count(*) FROM holdfast_rest WHERE state = 'succeeded')"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.engine = Engine(url)
        self.noop = self._task(lambda sent_ns: None)

    def _task(self, handle: Callable[[int], None]) -> Any:
        async def noop(sent_ns: int) -> None:
            handle(sent_ns)

        return self.engine.task(noop)

    async def setup(self) -> None:
        await self.engine._inside.portal.hop(self.engine._inside.opened())
        self.engine.close()

    async def open(self) -> None:
        await self.engine._inside.portal.hop(self.engine._inside.opened())

    async def enqueue(self, sent_ns: int) -> None:
        await self.noop.asubmit(sent_ns)

    async def enqueue_many(self, count: int) -> None:
        await self.noop.asubmit_many([(0,)] * count)

    async def prepare(self, handle: Callable[[int], None]) -> None:
        self.engine = Engine(self.url)
        self.noop = self._task(handle)
        await self.open()

    async def work(self) -> None:
        with self.engine.worker(concurrency=CONCURRENCY):
            threading.Event().wait()


if __name__ == "__main__":
    main(Holdfast)
