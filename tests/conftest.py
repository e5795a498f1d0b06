"""Fixtures for the whole suite. Services start when the first test of a worker asks for one."""

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import Engine
from holdfast.store.open import open_store
from holdfast.testing import MovableClock
from tests import app as tasks
from tests.engines import STORES, address
from tests.services import postgres as postgres_service
from tests.services import valkey as valkey_service
from tests.services.process import ServiceMissing

if TYPE_CHECKING:
    import psycopg

pytest_plugins = ["tests.conformance", "tests.audit.made"]

# A run in the background of a shell ignores Ctrl-C, and every process that a test starts would, too.
signal.signal(signal.SIGINT, signal.default_int_handler)

SLOW_FOLDERS = ("services", "bench", "load", "house/test_conformance_page")
"""Real servers, load, and the whole suite collected once more: too dear for the fast part."""

BOTH_WHEN_FAST = ("store/test_conformance", "store/test_promises", "store/test_statements", "store/jobs")
"""Both stores behave alike, which their suite proves in the fast part too; all else runs on one there."""

UNSYNCED = {"fsync": "off", "full_page_writes": "off"}
"""The shared server waits for no disk. What a crash leaves behind is for tests with a server of their own."""

_database_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        place = item.nodeid.removeprefix("tests/")
        cases = item.nodeid.partition("[")[2]
        if place.startswith(SLOW_FOLDERS) or ("postgres" in cases and not place.startswith(BOTH_WHEN_FAST)):
            item.add_marker(pytest.mark.slow)


@contextlib.contextmanager
def skip_if_missing() -> Iterator[None]:
    """Without its binaries a service is skipped, never in CI. One that fails to start always fails."""
    try:
        yield
    except ServiceMissing as missing:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_service.Server]:
    """One server per xdist worker: each worker has a session of its own."""
    with contextlib.ExitStack() as stack:
        with skip_if_missing():
            server = stack.enter_context(postgres_service.running_postgres(settings=UNSYNCED))
        yield server


@pytest.fixture(scope="session")
def _postgres_admin(postgres: postgres_service.Server) -> "Iterator[psycopg.Connection]":
    import psycopg

    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        yield connection


@contextlib.contextmanager
def _database(server: postgres_service.Server, admin: "psycopg.Connection", made: str = "") -> Iterator[str]:
    name = f"test_{next(_database_numbers)}"
    admin.execute(f'CREATE DATABASE "{name}" {made}')
    try:
        yield server.dsn_of(name)
    finally:
        # FORCE, so that a test which failed with its connections open does not fail its neighbours.
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def postgres_dsn(postgres: postgres_service.Server, _postgres_admin: "psycopg.Connection") -> Iterator[str]:
    """A database without tables, dropped afterwards. `postgres_url` has them, for half of what they cost here.

    Do not restart `postgres` under this fixture: start a server of your own for that.
    """
    with _database(postgres, _postgres_admin) as dsn:
        yield dsn


@pytest.fixture(scope="session")
def valkey() -> Iterator[valkey_service.Server]:
    with contextlib.ExitStack() as stack:
        with skip_if_missing():
            server = stack.enter_context(valkey_service.running_valkey())
        yield server


@pytest.fixture
def valkey_url(valkey: valkey_service.Server) -> str:
    """The worker's own Valkey, emptied."""
    import redis

    with redis.Redis.from_url(valkey.url) as client:
        client.flushall()
    return valkey.url


def _migrate(address: str) -> None:
    async def run() -> None:
        store = open_store(address)
        await store.migrate()
        await store.close()

    # In a thread: a test's own event loop may be running when its database is asked for.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(run())).result()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the tables in it, to be copied: a quarter of what the migrations cost, and no wait for the disk."""
    path = tmp_path_factory.mktemp("template") / "holdfast.db"
    _migrate(str(path))
    return path


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """A fresh file with the tables in it, for what does not depend on the store."""
    shutil.copy(sqlite_template, tmp_path / "jobs.db")
    return f"sqlite:///{tmp_path}/jobs.db"


@pytest.fixture(scope="session")
def postgres_template(postgres: postgres_service.Server, _postgres_admin: "psycopg.Connection") -> str:
    _postgres_admin.execute("CREATE DATABASE template_holdfast")
    _migrate(postgres.dsn_of("template_holdfast"))
    return "template_holdfast"


@pytest.fixture
def postgres_url(
    postgres: postgres_service.Server, _postgres_admin: "psycopg.Connection", postgres_template: str
) -> Iterator[str]:
    """A fresh database with the tables in it, dropped afterwards."""
    with _database(postgres, _postgres_admin, f"TEMPLATE {postgres_template} STRATEGY file_copy") as dsn:
        yield dsn


@pytest.fixture(params=STORES)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh database of each kind, by its address."""
    return address(request, tmp_path, "holdfast.db")


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def app(database: str) -> Iterator[Engine]:
    """An engine on it, with the tasks that worker processes know too."""
    engine = tasks.app_on(database)
    yield engine
    engine.close()
