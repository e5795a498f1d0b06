"""oban, the Python package: a hundred jobs at once. It needs Python 3.12."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from oban import Oban as Engine
from oban import worker
from oban.schema import install
from psycopg_pool import AsyncConnectionPool

from bench.peers.line import Peer, main

LIMIT = 100


@worker(queue="default")
class Noop:
    handle: Callable[[int], None] = staticmethod(lambda sent_ns: None)

    async def process(self, job: object) -> None:
        Noop.handle(job.args["sent_ns"])  # type: ignore[attr-defined] # a job of oban's


class Oban(Peer):
    package = "oban"
    left = "SELECT count(*) FROM oban_jobs WHERE state <> 'completed'"

    async def setup(self) -> None:
        await install(await self._pool())

    async def _pool(self) -> AsyncConnectionPool:
        return await Engine.create_pool(self.url)

    async def open(self) -> None:
        self.engine = Engine(pool=await self._pool())
        await self.engine.start()

    async def enqueue(self, sent_ns: int) -> None:
        await self.engine.enqueue(Noop.new({"sent_ns": sent_ns}))

    async def enqueue_many(self, count: int) -> None:
        await self.engine.enqueue_many([Noop.new({"sent_ns": 0}) for _ in range(count)])

    async def prepare(self, handle: Callable[[int], None]) -> None:
        logging.disable(logging.WARNING)
        Noop.handle = staticmethod(handle)
        self.engine = Engine(pool=await self._pool(), queues={"default": LIMIT})

    async def work(self) -> None:
        await self.engine.start()
        await asyncio.Event().wait()


if __name__ == "__main__":
    main(Oban)
