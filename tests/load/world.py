"""A store that is emptied for every example, with a clock that the example moves."""

import asyncio
import sqlite3
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

import asyncpg

from holdfast.store.store import SqlStore
from tests.load.sites import Site
from tests.tables import driver_of

T = TypeVar("T")
START_MS = 1_800_000_000_000
TABLES = ("job", "ready", "rest", "log", "signal", "key", "op", "dead", "seal", "purge", "lifecycle", "checkpoint")
LEASES = {"sqlite": "held", "postgres": "lease"}


def emptied(kind: str) -> str:
    return "".join(f"DELETE FROM holdfast_{table};" for table in (*TABLES, LEASES[kind]))


class World:
    """One database, one event loop, many short lives."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._runner = asyncio.Runner()
        self.now_ms = START_MS
        self.base = site.open(clock=lambda: self.now_ms, connections=1, synchronous="OFF")
        self.store = self.base

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def newcomer(self) -> SqlStore:
        """A store that knows nothing yet, as in a process that has just started."""
        return SqlStore(driver_of(self.base))

    def begin(self) -> None:
        self.run(self._empty())
        self.now_ms = START_MS
        self.store = self.newcomer()

    async def _empty(self) -> None:
        if self._site.kind == "sqlite":
            connection = sqlite3.connect(self._site.address)
            connection.execute("PRAGMA synchronous = OFF")
            connection.executescript(f"BEGIN IMMEDIATE; {emptied('sqlite')} COMMIT")
            connection.close()
        else:
            rows = await asyncpg.connect(self._site.address)
            await rows.execute(emptied("postgres"))
            await rows.close()

    def __enter__(self) -> "World":
        self.run(self.base.migrate())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run(self.base.close())
        self._runner.close()
