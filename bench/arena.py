"""Where workers are compared: a fresh database for each trial, made by the contender's own setup."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psycopg

from bench.meter import server_cpu_s
from tests.services.postgres import Server, running_postgres


@dataclass(frozen=True)
class Place:
    """One database: its URL, and a way to count in it."""

    url: str
    count: Callable[[str], int]
    settle: Callable[[], None]
    """What the database's own housekeeping does to tables that were filled some time ago."""


class Arena(Protocol):
    store: str
    version: str

    def template(self, name: str, setup: Callable[[str], None]) -> None:
        """Have a contender's tables made once, by `setup` with a URL."""
        ...

    def fresh(self, name: str) -> AbstractContextManager[Place]:
        """A copy of what `setup` made, removed at the end."""
        ...

    def cpu_s(self) -> float:
        """What the server has used so far."""
        ...


class PostgresArena:
    store = "postgres"

    def __init__(self, server: Server) -> None:
        self._server = server
        self._numbers = itertools.count(1)
        with self._connected("postgres") as connection:
            for name in ("synchronous_commit", "fsync", "full_page_writes"):
                assert _one(connection, f"SHOW {name}") == "on", f"{name} must be on"
            self.version = f"PostgreSQL {_one(connection, 'SHOW server_version')}, defaults, fsync on"

    def template(self, name: str, setup: Callable[[str], None]) -> None:
        with self._connected("postgres") as connection:
            connection.execute(f'CREATE DATABASE "{name}_template"')
        setup(self._server.dsn_of(f"{name}_template"))

    @contextmanager
    def fresh(self, name: str) -> Iterator[Place]:
        made = f"{name}_{next(self._numbers)}"
        with self._connected("postgres") as admin:
            admin.execute(f'CREATE DATABASE "{made}" TEMPLATE "{name}_template"')
            # Otherwise one contender's checkpoint would write what another has left.
            admin.execute("CHECKPOINT")
            try:
                with self._connected(made) as connection:
                    yield Place(
                        self._server.dsn_of(made),
                        count=lambda query: int(str(_one(connection, query))),
                        settle=lambda: _vacuum(connection),
                    )
            finally:
                admin.execute(f'DROP DATABASE "{made}" WITH (FORCE)')

    def _connected(self, database: str) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self._server.dsn_of(database), autocommit=True)

    def cpu_s(self) -> float:
        return server_cpu_s(self._server.pid)


def _one(connection: psycopg.Connection[tuple[object, ...]], query: str) -> object:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def _vacuum(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute("VACUUM ANALYZE")


class SqliteArena:
    store = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.version = f"SQLite {sqlite3.sqlite_version}, as each sets it up (Holdfast: WAL, synchronous=FULL)"

    def template(self, name: str, setup: Callable[[str], None]) -> None:
        home = self._folder / name
        home.mkdir()
        setup(f"sqlite:///{home / 'bench.db'}")

    @contextmanager
    def fresh(self, name: str) -> Iterator[Place]:
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            home = Path(folder) / "place"
            shutil.copytree(self._folder / name, home)
            file = home / "bench.db"
            with contextlib.closing(sqlite3.connect(file, isolation_level=None, timeout=60)) as connection:
                yield Place(
                    f"sqlite:///{file}",
                    count=lambda query: int(connection.execute(query).fetchone()[0]),
                    settle=lambda: None,  # SQLite has no housekeeping of its own
                )

    def cpu_s(self) -> float:
        return 0.0


@contextmanager
def arenas(stores: tuple[str, ...]) -> Iterator[list[Arena]]:
    """PostgreSQL runs as it comes: nothing is set but where it listens."""
    with contextlib.ExitStack() as stack:
        found: list[Arena] = []
        if "postgres" in stores:
            found.append(PostgresArena(stack.enter_context(running_postgres())))
        if "sqlite" in stores:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-bench-"))
            found.append(SqliteArena(Path(folder)))
        yield found
