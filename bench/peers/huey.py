"""huey on SQLite: one thread, as its documentation recommends there; durable as SQLite is by default."""

from __future__ import annotations

import logging
from collections.abc import Callable

from huey import SqliteHuey

from bench.peers.line import Peer, main


class Huey(Peer):
    package = "huey"
    # A job leaves the table when it is taken: whether it was run is known from the tally alone.
    left = "SELECT count(*) FROM task"
    bulk = False
    in_loop = False

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.handle: Callable[[int], None] = lambda sent_ns: None
        self.huey = SqliteHuey(filename=url.removeprefix("sqlite:///"))

        @self.huey.task(name="noop")
        def noop(sent_ns: int) -> None:
            self.handle(sent_ns)

        self.noop = noop

    async def setup(self) -> None:
        self.huey.storage.close()

    async def open(self) -> None:
        self.huey.storage.queue_size()

    async def enqueue(self, sent_ns: int) -> None:
        self.noop(sent_ns)

    async def prepare(self, handle: Callable[[int], None]) -> None:
        logging.disable(logging.WARNING)
        self.handle = handle
        await self.open()

    async def work(self) -> None:
        self.huey.create_consumer(workers=1, periodic=False).run()


if __name__ == "__main__":
    main(Huey)
