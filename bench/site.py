"""Where contenders are measured: a fresh database each time, made by our own migrations."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import asyncpg

from bench.meter import server_cpu_s
from holdfast.store.postgres.driver import open_postgres
from holdfast.store.sqlite.driver import open_sqlite
from tests.services.postgres import Server, running_postgres

COUNTS = """
SELECT
    (SELECT count(*) FROM holdfast_rest WHERE state = 'succeeded'),
    (SELECT count(*) FROM holdfast_events)
"""


@dataclass(frozen=True)
class Site:
    """One database for one measurement: a PostgreSQL address or a SQLite file."""

    store: str
    address: str
    synchronous: str = "FULL"


class Ground(Protocol):
    """Gives out sites that differ in nothing but their name."""

    store: str
    setting: str
    """The durability under which it runs, for the report."""

    version: str

    def fresh(self) -> AbstractAsyncContextManager[Site]:
        """A database with our tables and nothing in them; removed at the end."""
        ...

    def held(self, site: Site) -> AbstractAsyncContextManager[None]:
        """A reader with an open transaction that has read, so that nothing after it can be cleaned away."""
        ...

    async def counts(self, site: Site) -> tuple[int, int]:
        """Jobs that succeeded, and events."""
        ...

    def cpu_s(self) -> float:
        """What the server has used so far, beside this process."""
        ...


class PostgresGround:
    store = "postgres"

    def __init__(self, server: Server) -> None:
        self._server = server
        self._numbers = itertools.count(1)
        self._template: str | None = None
        self.setting = "synchronous_commit=on"
        self.version = "PostgreSQL"

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[Site]:
        if self._template is None:
            self._template = await self._make_template()
        name = f"bench_{next(self._numbers)}"
        await self._run(f"CREATE DATABASE {name} TEMPLATE {self._template}")
        try:
            yield Site(self.store, self._server.dsn_of(name))
        finally:
            await self._run(f"DROP DATABASE {name} WITH (FORCE)")

    async def _make_template(self) -> str:
        await self._run("CREATE DATABASE bench_template")
        store = open_postgres(self._server.dsn_of("bench_template"))
        await store.migrate()
        await store.close()
        return "bench_template"

    async def _run(self, statement: str) -> None:
        connection = await asyncpg.connect(self._server.dsn)
        try:
            await connection.execute(statement)
            self.version = f"PostgreSQL {await connection.fetchval('SHOW server_version')}"
            for name in ("synchronous_commit", "fsync"):
                assert await connection.fetchval(f"SHOW {name}") == "on", f"{name} must be on"
        finally:
            await connection.close()

    @asynccontextmanager
    async def held(self, site: Site) -> AsyncIterator[None]:
        reader = await asyncpg.connect(site.address)
        try:
            async with reader.transaction(isolation="repeatable_read", readonly=True):
                await reader.fetch(COUNTS)
                yield
        finally:
            await reader.close()

    async def counts(self, site: Site) -> tuple[int, int]:
        connection = await asyncpg.connect(site.address)
        try:
            [(done, events)] = await connection.fetch(COUNTS)
            return done, events
        finally:
            await connection.close()

    def cpu_s(self) -> float:
        return server_cpu_s(self._server.pid)


class SqliteGround:
    store = "sqlite"

    def __init__(self, folder: Path, synchronous: str) -> None:
        self._folder = folder
        self._synchronous = synchronous
        self._numbers = itertools.count(1)
        self.setting = f"synchronous={synchronous}"
        self.version = f"SQLite {sqlite3.sqlite_version}"

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[Site]:
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            file = Path(folder) / "bench.db"
            store = open_sqlite(file, synchronous=self._synchronous)
            await store.migrate()
            await store.close()
            yield Site(self.store, str(file), self._synchronous)

    @asynccontextmanager
    async def held(self, site: Site) -> AsyncIterator[None]:
        with contextlib.closing(sqlite3.connect(site.address, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute(COUNTS).fetchall()
            yield
            reader.execute("COMMIT")

    async def counts(self, site: Site) -> tuple[int, int]:
        with contextlib.closing(sqlite3.connect(site.address)) as connection:
            done, events = connection.execute(COUNTS).fetchone()
            return done, events

    def cpu_s(self) -> float:
        return 0.0


@contextmanager
def grounds(stores: tuple[str, ...], synchronous: tuple[str, ...]) -> Iterator[list[Ground]]:
    """What to measure on. PostgreSQL runs with its own defaults: nothing is set but where it listens."""
    with contextlib.ExitStack() as stack:
        found: list[Ground] = []
        if "postgres" in stores:
            found.append(PostgresGround(stack.enter_context(running_postgres())))
        if "sqlite" in stores:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-bench-")))
            found += [SqliteGround(folder, setting) for setting in synchronous]
        yield found
