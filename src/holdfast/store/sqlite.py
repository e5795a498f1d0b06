"""SQLite: one writer thread, a whole transaction per hop, and a reader beside it.

The writer takes its work in order, leases first. `synchronous=FULL` by default: what was answered is on disk.
"""

from __future__ import annotations

import asyncio
import heapq
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from holdfast.kernel.refused import StoreError
from holdfast.store.script import Many, Query, Script
from holdfast.store.sql_store import SqlStore
from holdfast.store.sqlite_dialect import SqliteDialect
from holdfast.store.statements import named, numbered

T = TypeVar("T")
BUSY_TIMEOUT_MS = 60_000
OLDEST = (3, 38, 0)
"""The first version with everything that the statements use (`->>`, RETURNING, UPDATE FROM, STRICT)."""


def system_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class _Thread:
    """One connection in one thread: runs scripts in order of urgency, then of arrival."""

    def __init__(self, path: Path, name: str, *, writes: bool, synchronous: str) -> None:
        self._work: list[tuple[int, int, Callable[[], None]]] = []
        self._ready = threading.Condition()
        self._count = 0
        self._closing = False
        self._writes = writes
        self._path = path
        self._synchronous = synchronous
        self._connection: sqlite3.Connection | None = None
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    async def run(self, script: Script[T], *, urgent: bool = False) -> T:
        return await self.call(lambda connection: self._play(connection, script), urgent=urgent)

    async def call(self, work: Callable[[sqlite3.Connection], T], *, urgent: bool = False) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def job() -> None:
            try:
                result = work(self._open())
            except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
                loop.call_soon_threadsafe(_fail, future, error)
            else:
                loop.call_soon_threadsafe(_succeed, future, result)

        with self._ready:
            if self._closing:
                raise StoreError("the store is closed")
            self._count += 1
            heapq.heappush(self._work, (0 if urgent else 1, self._count, job))
            self._ready.notify()
        return await future

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = sqlite3.connect(self._path, isolation_level=None, cached_statements=256)
            connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute("PRAGMA wal_autocheckpoint = 4000")
            connection.execute("PRAGMA journal_size_limit = 67108864")
            connection.execute("PRAGMA cache_size = -16384")
            connection.execute("PRAGMA temp_store = MEMORY")
            self._connection = connection
        return self._connection

    def _play(self, connection: sqlite3.Connection, script: Script[T]) -> T:
        """Run a script to its end: a write in a transaction that was meant as one from its start."""
        if not self._writes:
            return _steps(connection, script)
        with _transaction(connection):
            return _steps(connection, script)

    def _loop(self) -> None:
        while True:
            with self._ready:
                while not self._work and not self._closing:
                    self._ready.wait()
                if not self._work:
                    break
                _, _, job = heapq.heappop(self._work)
            job()
        if self._connection is not None:
            self._connection.close()

    def close(self) -> None:
        with self._ready:
            self._closing = True
            self._ready.notify()
        self._thread.join()


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # Out of room or of luck, SQLite has rolled back already: a second time would hide what happened.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _steps(connection: sqlite3.Connection, script: Script[T]) -> T:
    answer: list[Any] | None = None
    while True:
        try:
            step = script.send(answer) if answer is not None else next(script)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # a script returns what its type says
        match step:
            case Query(name, params):
                answer = connection.execute(named("sqlite", name).text, params).fetchall()
            case Many(name, rows):
                connection.executemany(numbered("sqlite", name).text, rows)
                answer = []


def _succeed(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


class SqliteDriver:
    def __init__(self, path: Path, clock: Callable[[], int] | None, synchronous: str) -> None:
        if sqlite3.sqlite_version_info < OLDEST:
            raise StoreError(
                f"SQLite {sqlite3.sqlite_version} is too old",
                remedy=f"use a Python with SQLite {'.'.join(map(str, OLDEST))} or later",
            )
        self.path = path
        self.dialect = SqliteDialect(clock or system_clock_ms)
        self._writer = _Thread(path, "holdfast-writer", writes=True, synchronous=synchronous)
        self._reader = _Thread(path, "holdfast-reader", writes=False, synchronous=synchronous)

    async def write(self, script: Script[T], *, single: bool = False, urgent: bool = False) -> T:
        return await self._writer.run(script, urgent=urgent)

    async def read(self, script: Script[T]) -> T:
        return await self._reader.run(script)

    async def run_ddl(self, text: str, name: str) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            done = named("sqlite", "migration_done").text
            with _transaction(connection):
                taken = connection.execute("SELECT 1 FROM holdfast_migration WHERE name = ?", (name,)).fetchone()
                if not taken:
                    for statement in text.split(";\n"):
                        connection.execute(statement)
                    connection.execute(done, {"name": name})
            return not taken

        return await self._writer.call(work)

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._reader.close)
        await loop.run_in_executor(None, self._writer.close)


def open_sqlite(
    path: str | Path, *, clock: Callable[[], int] | None = None, synchronous: str = "FULL"
) -> SqlStore:
    """A store in one file. Its folder is made when it is missing; `migrate` makes the tables."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    return SqlStore(SqliteDriver(file, clock, synchronous))
