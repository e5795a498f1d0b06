"""One store fixture, two databases, one clock that a test moves. Every file here runs on both.

A migrated SQLite file is copied for each test; one migrated PostgreSQL database is emptied between tests.
Neither waits for the disk: durability has tests of its own.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.store.postgres import open_postgres
from holdfast.store.sql_store import SqlStore
from holdfast.store.sqlite import open_sqlite
from tests.store.scenes import Clock

SUITE_DATABASE = "store_suite"
EMPTY = """
DELETE FROM holdfast_job; DELETE FROM holdfast_event; DELETE FROM holdfast_signal; DELETE FROM holdfast_key;
DELETE FROM holdfast_op; DELETE FROM holdfast_dead; DELETE FROM holdfast_seal; DELETE FROM holdfast_purge;
DELETE FROM holdfast_lifecycle; SELECT setval('holdfast_event_pos', 1, false);
"""

Opener = Callable[[], SqlStore]


async def _migrated(store: SqlStore) -> None:
    await store.migrate()
    await store.close()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "template.db"
    asyncio.run(_migrated(open_sqlite(path, synchronous="OFF")))
    return path


@pytest.fixture(scope="session")
def postgres_suite_dsn(postgres: Any, _postgres_admin: Any) -> Iterator[str]:
    _postgres_admin.execute(f"CREATE DATABASE {SUITE_DATABASE}")
    _postgres_admin.execute(f"ALTER DATABASE {SUITE_DATABASE} SET synchronous_commit = off")
    dsn = postgres.dsn_of(SUITE_DATABASE)
    asyncio.run(_migrated(open_postgres(dsn)))
    yield dsn
    _postgres_admin.execute(f"DROP DATABASE {SUITE_DATABASE} WITH (FORCE)")


@pytest.fixture(scope="session")
def postgres_suite(postgres_suite_dsn: str) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(postgres_suite_dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Opener:
    """How to open one more store on this test's own database."""
    if request.param == "sqlite":
        path = tmp_path / "store.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        return lambda: open_sqlite(path, clock=clock, synchronous="OFF")
    request.getfixturevalue("postgres_suite").execute(EMPTY)
    dsn = request.getfixturevalue("postgres_suite_dsn")
    return lambda: open_postgres(dsn, clock=clock)


@pytest.fixture
async def store(database: Opener) -> AsyncIterator[SqlStore]:
    opened = database()
    yield opened
    await opened.close()


@pytest.fixture
async def other(database: Opener) -> AsyncIterator[SqlStore]:
    """A second process's store on the same database."""
    opened = database()
    yield opened
    await opened.close()
