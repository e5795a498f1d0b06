"""SQLite: one writer thread, a whole transaction per hop, and a reader beside it.

The writer takes its work in order, leases first. `synchronous=FULL` by default: what was answered is on disk.
"""

from __future__ import annotations

import asyncio
import heapq
import sqlite3
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from holdfast.kernel.errors import StoreError
from holdfast.store.open import OLDEST_SQLITE as OLDEST
from holdfast.store.script import Many, Query, Script
from holdfast.store.sqlite.dialect import SqliteDialect
from holdfast.store.statements import named, numbered
from holdfast.store.store import SqlStore

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
GROUP = 64
"""As many writes as this share a commit."""
BUSY_TIMEOUT_MS = 60_000
LISTEN_EVERY_S = 0.02
AGAIN_S = 0.005


def system_clock_ms() -> int:
    return time.time_ns() // 1_000_000


_caller = threading.local()


class _Item(Generic[T]):
    """Work for a connection, and who waits for it."""

    __slots__ = ("error", "future", "result", "work")

    def __init__(self, work: Work[T], future: asyncio.Future[T] | Future[T]) -> None:
        self.work = work
        self.future = future
        self.result: T | None = None
        self.error: BaseException | None = None

    def run(self, connection: sqlite3.Connection) -> None:
        try:
            self.result = self.work(connection)
        except BaseException as error:
            self.error = error

    def answer(self) -> None:
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(cast(T, self.result))


class _Thread:
    """One connection in one thread: runs work in order of urgency, then of arrival.

    Writes that wait together are committed together, each under a savepoint of its own.
    """

    def __init__(self, path: Path, name: str, *, writes: bool, synchronous: str) -> None:
        self._work: list[tuple[int, int, _Item[Any]]] = []
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
        return await self.call(lambda connection: _steps(connection, script), urgent=urgent)

    async def call(self, work: Work[T], *, urgent: bool = False) -> T:
        waiting = getattr(_caller, "waits", False)
        future: Any = Future() if waiting else asyncio.get_running_loop().create_future()
        item: _Item[T] = _Item(work, future)
        with self._ready:
            if self._closing:
                raise StoreError("the store is closed")
            self._count += 1
            heapq.heappush(self._work, (0 if urgent else 1, self._count, item))
            self._ready.notify()
        result: T = future.result() if waiting else await future
        return result

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = sqlite3.connect(self._path, isolation_level=None, cached_statements=256)
            connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            _write_ahead(connection)
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute("PRAGMA wal_autocheckpoint = 4000")
            connection.execute("PRAGMA journal_size_limit = 67108864")
            connection.execute("PRAGMA cache_size = -4096")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute(f"PRAGMA query_only = {'OFF' if self._writes else 'ON'}")
            self._connection = connection
        return self._connection

    def _loop(self) -> None:
        while items := self._next():
            try:
                connection = self._open()
                if self._writes:
                    _write(connection, items)
                else:
                    items[0].run(connection)
            except BaseException as error:
                for item in items:
                    item.error = item.error or error
            for item in items:
                if isinstance(item.future, Future):
                    item.answer()
                else:
                    item.future.get_loop().call_soon_threadsafe(item.answer)
        if self._connection is not None:
            self._connection.close()

    def _next(self) -> list[_Item[Any]]:
        """What to do now: all writes that wait, or one read; nothing when the thread is to end."""
        with self._ready:
            while not self._work and not self._closing:
                self._ready.wait()
            count = min(len(self._work), GROUP if self._writes else 1)
            return [heapq.heappop(self._work)[2] for _ in range(count)]

    def close(self) -> None:
        with self._ready:
            self._closing = True
            self._ready.notify()
        self._thread.join()


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Several on a new file are refused at once, whatever their busy timeout: each would wait for the others."""
    give_up_s = time.monotonic() + BUSY_TIMEOUT_MS / 1_000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # The last byte is the primary code; the others say more about it.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_s:
                raise
            time.sleep(AGAIN_S)


def _write(connection: sqlite3.Connection, items: list[_Item[Any]]) -> None:
    """One transaction for all; what fails takes back its own part and nothing else."""
    with _transaction(connection):
        if len(items) == 1:
            items[0].run(connection)
            if items[0].error is not None:
                raise items[0].error
            return
        for item in items:
            connection.execute("SAVEPOINT item")
            item.run(connection)
            if item.error is not None:
                if not connection.in_transaction:
                    # Out of room or of luck, SQLite has rolled back everything: nobody's part stands.
                    raise item.error
                connection.execute("ROLLBACK TO item")
            connection.execute("RELEASE item")


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

    def wait(self, call: Coroutine[Any, Any, T]) -> T:
        _caller.waits = True
        try:
            call.send(None)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # a coroutine returns what its type says
        finally:
            _caller.waits = False
        call.close()
        raise RuntimeError("it waited for something else than the database")

    async def read(self, script: Script[T]) -> T:
        return await self._reader.run(script)

    async def run_ddl(self, text: str, name: str) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            done = named("sqlite", "migration_done").text
            taken = connection.execute("SELECT 1 FROM holdfast_migration WHERE name = ?", (name,)).fetchone()
            if not taken:
                connection.create_function("sha256", 1, lambda data: sha256(data).hexdigest(), deterministic=True)
                for statement in text.split(";\n"):
                    connection.execute(statement)
                connection.execute(done, {"name": name})
            return not taken

        return await self._writer.call(work)

    async def announce(self) -> None:
        """Who listens sees the database change: there is nothing to say."""

    async def listen(self, wake: Callable[[], None]) -> None:
        """Until cancelled. Asking whether another connection has written is all that SQLite offers, and it is cheap."""
        seen = None
        while True:
            version = await self._reader.call(lambda c: c.execute("PRAGMA data_version").fetchone()[0])
            if version != seen:
                seen = version
                wake()
            await asyncio.sleep(LISTEN_EVERY_S)

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._reader.close)
        await loop.run_in_executor(None, self._writer.close)


def open_sqlite(path: str | Path, *, clock: Callable[[], int] | None = None, synchronous: str = "FULL") -> SqlStore:
    """A store in one file. Its folder is made when it is missing; `migrate` makes the tables."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    driver = SqliteDriver(file, clock, synchronous)
    return SqlStore(driver)
