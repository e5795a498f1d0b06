"""One store fixture, two databases, one clock that a test moves. Every file here runs on both.

A migrated SQLite file is copied for each test. One migrated PostgreSQL database is emptied between tests, its
connections kept: opening them costs more than most tests. Neither waits for the disk: durability has
tests of its own.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from holdfast.store.port import Store
from holdfast.store.postgres.driver import PostgresDriver
from holdfast.store.sqlite.driver import open_sqlite
from holdfast.store.store import SqlStore
from tests.store.ours import Opener, Ours
from tests.store.scenes import START_MS, Clock

HERE = Path(__file__).parent
SUITE_DATABASE = "store_suite"
EMPTY = """
DELETE FROM holdfast_job; DELETE FROM holdfast_ready; DELETE FROM holdfast_lease; DELETE FROM holdfast_rest;
DELETE FROM holdfast_log; DELETE FROM holdfast_signal; DELETE FROM holdfast_key;
DELETE FROM holdfast_op; DELETE FROM holdfast_dead; DELETE FROM holdfast_seal; DELETE FROM holdfast_purge;
DELETE FROM holdfast_lifecycle; DELETE FROM holdfast_gate; DELETE FROM holdfast_flow; DELETE FROM holdfast_node;
DELETE FROM holdfast_edge; DELETE FROM holdfast_schedule; DELETE FROM holdfast_queue;
SELECT setval('holdfast_log_pos', 4096, false);
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One event loop for all tests here: a connection belongs to the loop that opened it."""
    for item in items:
        if item.path.is_relative_to(HERE) and asyncio.iscoroutinefunction(getattr(item, "function", None)):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="session")
def postgres_suite_dsn(postgres: Any, _postgres_admin: Any, postgres_template: str) -> Iterator[str]:
    _postgres_admin.execute(f"CREATE DATABASE {SUITE_DATABASE} TEMPLATE {postgres_template}")
    _postgres_admin.execute(f"ALTER DATABASE {SUITE_DATABASE} SET synchronous_commit = off")
    dsn = postgres.dsn_of(SUITE_DATABASE)
    yield dsn
    _postgres_admin.execute(f"DROP DATABASE {SUITE_DATABASE} WITH (FORCE)")


@pytest.fixture(scope="session")
def postgres_suite(postgres_suite_dsn: str) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(postgres_suite_dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def shared_clock() -> Clock:
    return Clock()


@pytest.fixture
def clock(shared_clock: Clock) -> Clock:
    shared_clock.now_ms = START_MS
    return shared_clock


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def postgres_driver(postgres_suite_dsn: str, shared_clock: Clock) -> AsyncIterator[PostgresDriver]:
    driver = PostgresDriver(postgres_suite_dsn, shared_clock, connections=2)
    yield driver
    await driver.close()


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Opener:
    """How to open one more store on this test's own database."""
    if request.param == "sqlite":
        path = tmp_path / "store.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)

        @asynccontextmanager
        async def on_sqlite() -> AsyncIterator[Store]:
            store = open_sqlite(path, clock=clock, synchronous="OFF")
            yield store
            await store.close()

        return on_sqlite

    request.getfixturevalue("postgres_suite").execute(EMPTY)
    driver = request.getfixturevalue("postgres_driver")

    @asynccontextmanager
    async def on_postgres() -> AsyncIterator[Store]:
        yield SqlStore(driver)

    return on_postgres


@pytest.fixture
def ours(request: pytest.FixtureRequest, database: Opener, clock: Clock) -> Ours:
    is_postgres = request.node.callspec.params["database"] == "postgres"
    return Ours(database, clock, request.getfixturevalue("postgres_suite_dsn") if is_postgres else None)


@pytest_asyncio.fixture(loop_scope="session")
async def store(database: Opener) -> AsyncIterator[Store]:
    async with database() as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def other(database: Opener) -> AsyncIterator[Store]:
    """A second process's store on the same database."""
    async with database() as opened:
        yield opened
