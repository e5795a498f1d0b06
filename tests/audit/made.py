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
from holdfast.kernel.log import SPAN, LogRow, expand
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

    async def row_of(self, job_id: str, seq: int) -> tuple[LogRow, int]:
        """The row of the log that an event is in, and which of its jobs it is of."""
        for text in self.sql(f"SELECT {', '.join(LogRow._fields)} FROM holdfast_log ORDER BY pos"):
            row = self.store.driver.dialect.row(text)  # type: ignore[attr-defined]
            row = row._replace(ids=[None if each is None else str(each) for each in row.ids])
            if any((event.job_id, event.seq) == (job_id, seq) for event in expand(row)):
                return row, row.ids.index(job_id)
        raise LookupError(f"job {job_id} has no event {seq}")

    def set_in_row(self, pos: int, column: str, i: int, value: Any) -> None:
        """Change what a row of the log says of one of its jobs."""
        if "://" in self.url:
            self.sql(f"UPDATE holdfast_log SET {column}[{i + 1}] = ? WHERE pos = ?", value, pos)
        else:
            value = value.hex() if isinstance(value, bytes) else value
            said = f"json_set(coalesce({column}, '[]'), '$[{i}]', ?)"
            self.sql(f"UPDATE holdfast_log SET {column} = {said} WHERE pos = ?", value, pos)

    async def drop_rows(self, job_id: str) -> None:
        """Remove the rows of the log that a job is in, which it shares with no other."""
        for event in (await self.store.reads.events(job_id))[1:]:
            self.sql("DELETE FROM holdfast_log WHERE pos = ?", event.pos - event.pos % SPAN)

    def drop_job(self, job_id: str) -> None:
        """Remove a job and where it stands, and with it its first event."""
        for table in ("job", "ready", "rest"):
            self.sql(f"DELETE FROM holdfast_{table} WHERE id = ?", job_id)

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


TABLES = ("job", "ready", "lease", "rest", "log", "signal", "key", "op", "dead", "seal", "purge", "lifecycle")


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
