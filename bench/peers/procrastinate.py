"""procrastinate: thirty jobs at once over thirty connections."""

from __future__ import annotations

import logging
from collections.abc import Callable

from procrastinate import App, PsycopgConnector

from bench.peers.line import Peer, main

CONCURRENCY = 30


class Procrastinate(Peer):
    package = "procrastinate"
    left = "SELECT count(*) FROM procrastinate_jobs WHERE status <> 'succeeded'"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.handle: Callable[[int], None] = lambda sent_ns: None
        self.app = App(connector=PsycopgConnector(conninfo=url, max_size=CONCURRENCY))

        @self.app.task(name="noop")
        async def noop(sent_ns: int) -> None:
            self.handle(sent_ns)

        self.noop = noop

    async def setup(self) -> None:
        await self.app.open_async()
        await self.app.schema_manager.apply_schema_async()

    async def open(self) -> None:
        await self.app.open_async()

    async def enqueue(self, sent_ns: int) -> None:
        await self.noop.defer_async(sent_ns=sent_ns)

    async def enqueue_many(self, count: int) -> None:
        await self.noop.batch_defer_async(*[{"sent_ns": 0}] * count)

    async def prepare(self, handle: Callable[[int], None]) -> None:
        logging.disable(logging.WARNING)
        self.handle = handle
        await self.app.open_async()

    async def work(self) -> None:
        await self.app.run_worker_async(concurrency=CONCURRENCY, install_signal_handlers=False)


if __name__ == "__main__":
    main(Procrastinate)
