"""One database of each kind, filled and sealed once, and given to every test as it was then."""

import asyncio
import contextlib
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from holdfast.audit.auditor import Report, audit
from holdfast.chores.sealer import Sealer
from holdfast.store.open import open_store
from holdfast.store.port import Store
from tests.audit.lives import Clock, Lives, live


@dataclass
class Made:
    """A database, the jobs in it, and hands that reach around the store."""

    url: str
    ids: dict[str, str]
    now_ms: int
    store: Store
    clock: Clock

    @property
    def lives(self) -> Lives:
        return Lives(self.store, self.clock, self.ids)

    def sql(self, text: str, *params: Any) -> list[Any]:
        if "://" not in self.url:
            with contextlib.closing(sqlite3.connect(self.url, isolation_level=None)) as file:
                return file.execute(text, params).fetchall()
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(text.replace("?", "%s"), params)
            return cursor.fetchall() if cursor.description else []

    async def audit(self) -> Report:
        return await audit(self.url, processes=False)


async def _fill(url: str) -> tuple[dict[str, str], int]:
    clock = Clock()
    store = open_store(url, clock=clock)
    await store.migrate()
    lives = await live(store, clock)
    await Sealer(store).seal_all()
    # A second seal, so that there is a seal before and one behind it.
    await lives.submit("second")
    await lives.succeed("second")
    await Sealer(store).seal_all()
    await lives.submit("third")
    await Sealer(store).seal_all()
    await store.close()
    return lives.ids, clock.now_ms


def _filled(url: str) -> tuple[dict[str, str], int]:
    """In a thread: a test's own event loop may be running when its template is asked for."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(_fill(url))).result()


@pytest.fixture(scope="session")
def sealed_sqlite(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str], int]:
    path = tmp_path_factory.mktemp("proof") / "template.db"
    return (path, *_filled(str(path)))


TABLES = ("job", "event", "signal", "key", "op", "dead", "seal", "purge", "lifecycle")


@pytest.fixture(scope="session")
def sealed_postgres(postgres: Any, _postgres_admin: Any) -> Iterator[tuple[str, dict[str, str], int]]:
    import psycopg

    name = f"proof_{os.getpid()}"
    _postgres_admin.execute(f'CREATE DATABASE "{name}"')
    url = postgres.dsn_of(name)
    ids, now_ms = _filled(url)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA kept")
        for table in TABLES:
            connection.execute(f"CREATE TABLE kept.{table} AS TABLE holdfast_{table}")
    yield url, ids, now_ms
    _postgres_admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _restore(url: str) -> None:
    """Every row as it was: far cheaper than a database for each test."""
    import psycopg

    with psycopg.connect(url) as connection:
        for table in TABLES:
            # Not TRUNCATE: that writes new files.
            connection.execute(f"DELETE FROM holdfast_{table}")
            connection.execute(f"INSERT INTO holdfast_{table} OVERRIDING SYSTEM VALUE SELECT * FROM kept.{table}")


@pytest.fixture(params=["sqlite", "postgres"])
async def made(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Made]:
    """A copy of the filled, sealed database that the test may do anything to."""
    if request.param == "sqlite":
        template, ids, now_ms = request.getfixturevalue("sealed_sqlite")
        url = str(tmp_path / "copy.db")
        shutil.copy(template, url)
    else:
        url, ids, now_ms = request.getfixturevalue("sealed_postgres")
        _restore(url)
    clock = Clock(now_ms)
    store = open_store(url, clock=clock)
    yield Made(url, dict(ids), now_ms, store, clock)
    await store.close()
