"""The places that exist, as the conformance suite wants them."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from holdfast.files.folder import Folder
from holdfast.files.port import Files
from holdfast.store.open import SQLITE, open_store
from holdfast.store.sqlite.driver import open_sqlite
from holdfast.store.store import SqlStore
from holdfast.testing import MovableClock


class FolderPlace:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = MovableClock()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Files]:
        yield Folder(self.path, self.clock)

    async def kept(self) -> int:
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())

    def pass_time(self) -> int:
        return self.clock.advance("1h")


class DatabasePlace:
    def __init__(self, url: str) -> None:
        self.url = url
        self.clock = MovableClock()

    def store(self) -> SqlStore:
        """Without waiting for the disk: what a crash of the machine leaves is not the question here."""
        if self.url.startswith(SQLITE):
            return open_sqlite(self.url.removeprefix(SQLITE), clock=self.clock, synchronous="OFF")
        return open_store(self.url, clock=self.clock)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Files]:
        store = self.store()
        await store.migrate()
        yield store.files
        await store.close()

    async def kept(self) -> int:
        return await asyncio.to_thread(self._kept)

    def _kept(self) -> int:
        query = "SELECT coalesce(sum(length(data)), 0) FROM holdfast_chunk"
        if self.url.startswith(SQLITE):
            connection = sqlite3.connect(self.url.removeprefix(SQLITE))
            try:
                return int(connection.execute(query).fetchone()[0])
            finally:
                connection.close()
        import psycopg

        with psycopg.connect(self.url) as there:
            [(size,)] = there.execute(query).fetchall()
            return int(size)

    def pass_time(self) -> int:
        return self.clock.advance("1h")
