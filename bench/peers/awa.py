"""awa-pg: a core in Rust, five hundred workers and two claimers, its handlers in Python."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from awa import AsyncClient

from bench.peers.line import Peer, main

WORKERS = 500
CLAIMERS = 2
QUEUE = "default"


@dataclass
class Noop:
    sent_ns: int


class Awa(Peer):
    package = "awa-pg"
    # Its own view of jobs takes seconds for a few thousand: what it is made of is counted instead.
    left = """
        SELECT (SELECT count(*) FROM awa.ready_entries) - (SELECT count(*) FROM awa.done_entries)
            - (SELECT coalesce(sum(completed_count), 0) FROM awa.receipt_completion_batches)
    """

    async def setup(self) -> None:
        await self.open()
        await self.client.migrate()
        # What a first worker would do: the storage that the bulk call writes to.
        await self.client.install_queue_storage()

    async def open(self) -> None:
        self.client = AsyncClient(self.url)

    async def enqueue(self, sent_ns: int) -> None:
        await self.client.insert(Noop(sent_ns), queue=QUEUE)

    async def enqueue_many(self, count: int) -> None:
        await self.client.enqueue_many_copy([Noop(0)] * count, queue=QUEUE)

    async def prepare(self, handle: Callable[[int], None]) -> None:
        logging.disable(logging.WARNING)
        await self.open()

        @self.client.task(Noop, queue=QUEUE)
        async def noop(job: object) -> None:
            handle(job.args.sent_ns)  # type: ignore[attr-defined] # a job of awa's

    async def work(self) -> None:
        await self.client.start([{"name": QUEUE, "max_workers": WORKERS, "claimers": CLAIMERS}])
        await asyncio.Event().wait()


if __name__ == "__main__":
    main(Awa)
