"""The two stores, empty and migrated, with a PostgreSQL that takes many connections."""

import asyncio
import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import UNSYNCED, skip_if_missing
from tests.load.crew import Crew, crew
from tests.load.sites import Site
from tests.services.postgres import Server, running_postgres

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def wide_postgres() -> Iterator[Server]:
    """For 64 processes with two connections each, and room to look on. Processes die here, and no machine does."""
    with contextlib.ExitStack() as stack:
        with skip_if_missing():
            server = stack.enter_context(running_postgres(settings={**UNSYNCED, "max_connections": "220"}))
        yield server


def sqlite_site(folder: Path) -> Site:
    return Site("sqlite", str(folder / "jobs.db"))


def postgres_site(server: Server) -> Site:
    import psycopg

    name = f"load_{next(_numbers)}"
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return Site("postgres", server.dsn_of(name))


def migrated(site: Site) -> Site:
    async def run() -> None:
        store = site.open()
        await store.migrate()
        await store.close()

    asyncio.run(run())
    return site


@pytest.fixture(params=["sqlite", "postgres"])
def empty_site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    """Nothing in it, not even tables."""
    if request.param == "sqlite":
        return sqlite_site(tmp_path)
    return postgres_site(request.getfixturevalue("wide_postgres"))


@pytest.fixture
def site(empty_site: Site) -> Site:
    return migrated(empty_site)


@pytest.fixture
def hands(tmp_path: Path) -> Iterator[Crew]:
    with crew(tmp_path / "crew") as made:
        yield made
