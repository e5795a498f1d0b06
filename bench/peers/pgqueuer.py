"""pgqueuer: batches of 100 over one asyncpg connection, its tables logged as it sets them up."""

from __future__ import annotations

import logging
from collections.abc import Callable

import asyncpg
from pgqueuer import Job, PgQueuer, Queries

from bench.peers.line import Peer, main

BATCH = 100
ENTRYPOINT = "noop"


class Pgqueuer(Peer):
    package = "pgqueuer"
    # A job leaves this table when it is done, for a row of the log.
    left = "SELECT count(*) FROM pgqueuer"

    async def setup(self) -> None:
        await self.open()
        await self.queries.install()

    async def open(self) -> None:
        self.connection = await asyncpg.connect(self.url)
        self.queries = Queries.from_asyncpg_connection(self.connection)

    async def enqueue(self, sent_ns: int) -> None:
        await self.queries.enqueue(ENTRYPOINT, str(sent_ns).encode())

    async def enqueue_many(self, count: int) -> None:
        await self.queries.enqueue([ENTRYPOINT] * count, [b"0"] * count, [0] * count)

    async def prepare(self, handle: Callable[[int], None]) -> None:
        logging.disable(logging.WARNING)
        self.pgq = PgQueuer.from_asyncpg_connection(await asyncpg.connect(self.url))

        @self.pgq.entrypoint(ENTRYPOINT)
        async def noop(job: Job) -> None:
            handle(int(job.payload or b"0"))

    async def work(self) -> None:
        await self.pgq.run(batch_size=BATCH)


if __name__ == "__main__":
    main(Pgqueuer)
