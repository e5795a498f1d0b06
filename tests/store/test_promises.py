"""What a script promises its driver is checked, on the database that takes it at its word."""

import asyncio
import sqlite3
from typing import Any

import asyncpg
import pytest

from holdfast.store.open import open_store
from holdfast.store.port import Store
from holdfast.store.script import Query, Script
from tests.store.scenes import spec
from tests.tables import driver_of


def twice(*names: str) -> Script[None]:
    for name in names:
        yield Query("pause", {"name": name, "now_ms": 0, "reason": None})


async def test_a_script_that_writes_twice_is_no_single_one(store: Store) -> None:
    if driver_of(store).dialect.name == "sqlite":
        await driver_of(store).write(twice("one", "two"), single=True)  # a transaction all the same
        assert {"one", "two"} <= (await store.admin.queues.pauses()).keys()
        return
    with pytest.raises(RuntimeError, match="pause would write outside of the transaction"):
        await driver_of(store).write(twice("one", "two"), single=True)
    assert "two" not in await store.admin.queues.pauses()


async def test_a_read_cannot_write(store: Store) -> None:
    with pytest.raises((asyncpg.ReadOnlySQLTransactionError, sqlite3.OperationalError), match=r"read-?only"):
        await driver_of(store).read(twice("three", "four"))
    assert not {"three", "four"} & (await store.admin.queues.pauses()).keys()
    [answer] = await store.jobs.submit([spec()])
    assert await store.reads.get(answer.job_id) is not None


async def test_a_call_that_outlives_the_close_leaves_no_connection(postgres_url: str) -> None:
    store = open_store(postgres_url)
    await store.migrate()
    began = asyncio.Event()

    def slow() -> Script[None]:
        yield Query("clock", {"now_ms": None})
        began.set()
        for _ in range(200):
            yield Query("clock", {"now_ms": None})

    call = asyncio.create_task(driver_of(store).read(slow()))
    await began.wait()
    await store.close()
    await call
    watcher: Any = await asyncpg.connect(postgres_url)
    try:
        for _ in range(250):
            if not await watcher.fetchval(LEFT):
                break
            await asyncio.sleep(0.02)
        assert await watcher.fetchval(LEFT) == 0
    finally:
        await watcher.close()


LEFT = """SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'holdfast' AND pid <> pg_backend_pid()"""
