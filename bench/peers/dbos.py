"""dbos, on both databases: an empty workflow on a queue that is looked at ten times a second."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable

from dbos import DBOS, DBOSClient, DBOSConfig

from bench.peers.line import Peer, main

POLL_S = 0.1
QUEUE = "bench"
VERSION = "1"
handlers: list[Callable[[int], None]] = []


@DBOS.workflow(name="noop")
def noop(sent_ns: int) -> None:
    handlers[0](sent_ns)


class Dbos(Peer):
    package = "dbos"
    bulk = False
    in_loop = False

    def __init__(self, url: str) -> None:
        super().__init__(url)
        schema = "" if url.startswith("sqlite") else "dbos."
        self.left = f"SELECT count(*) FROM {schema}workflow_status WHERE status <> 'SUCCESS'"

    def _launch(self) -> None:
        config: DBOSConfig = {
            "name": "bench",
            "system_database_url": self.url,
            "log_level": "ERROR",
            "application_version": VERSION,
            "executor_id": f"bench-{os.getpid()}",
        }
        DBOS(config=config)
        DBOS.launch()

    async def setup(self) -> None:
        self._launch()
        DBOS.register_queue(QUEUE, polling_interval_sec=POLL_S)
        DBOS.destroy()

    async def open(self) -> None:
        self.client = DBOSClient(system_database_url=self.url)

    async def enqueue(self, sent_ns: int) -> None:
        self.client.enqueue({"workflow_name": "noop", "queue_name": QUEUE, "app_version": VERSION}, sent_ns)

    async def prepare(self, handle: Callable[[int], None]) -> None:
        logging.disable(logging.WARNING)
        handlers.append(handle)

    async def work(self) -> None:
        self._launch()
        threading.Event().wait()


if __name__ == "__main__":
    main(Dbos)
