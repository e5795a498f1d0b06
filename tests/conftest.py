"""Fixtures for the whole suite. Services start when the first test of a worker asks for one."""

import contextlib
import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import Engine
from holdfast.testing import MovableClock
from tests import app as tasks
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

BOTH_WHEN_FAST = ("store", "observe")
"""Both stores behave alike, which tests/store proves in the fast part too; above them it runs on one."""

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


@pytest.fixture
def postgres_dsn(postgres: postgres_service.Server, _postgres_admin: "psycopg.Connection") -> Iterator[str]:
    """A fresh, empty database, dropped afterwards.

    Creating one costs about 40 ms, its tables 50 ms and dropping it 10 ms: a test that only reads should share one.
    Do not restart `postgres` under this fixture: start a server of your own for that.
    """
    name = f"test_{next(_database_numbers)}"
    _postgres_admin.execute(f'CREATE DATABASE "{name}"')
    try:
        yield postgres.dsn_of(name)
    finally:
        # FORCE, so that a test which failed with its connections open does not fail its neighbours.
        _postgres_admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


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


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind, by its address."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'holdfast.db'}"
    dsn: str = request.getfixturevalue("postgres_dsn")
    return dsn


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def app(database: str) -> Iterator[Engine]:
    """An engine on it, with the tasks that worker processes know too."""
    engine = tasks.app_on(database)
    yield engine
    engine.close()
