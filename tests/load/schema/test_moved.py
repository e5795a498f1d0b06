"""What databases hold when a migration changes its form: it is all there afterwards."""

import asyncio
import sqlite3
from typing import Any

import asyncpg
import pytest

from holdfast.chores.sweeper import Sweeper, Swept
from holdfast.store import migrate as migrating
from holdfast.store.migrate import START
from holdfast.store.statements import migrations
from tests.load.sites import Site, new_id

LARGE = bytes(range(256)) * 5_000
LEFT = [("a.txt", b"the same"), ("b.txt", b"the same"), ("empty", b""), ("large", LARGE)]
JOB = new_id()


async def _leave(site: Site) -> None:
    insert = "INSERT INTO holdfast_artifact (job_id, name, attempt, at_ms, data) VALUES ({})"
    rows: list[tuple[Any, ...]] = [(JOB, name, 1, 7, data) for name, data in LEFT]
    if site.kind == "sqlite":
        connection = sqlite3.connect(site.address)
        connection.executemany(insert.format("?, ?, ?, ?, ?"), rows)
        connection.commit()
        connection.close()
        return
    there = await asyncpg.connect(site.address)
    await there.executemany(insert.format("$1, $2, $3, $4, $5"), rows)
    await there.close()


def test_artifacts_become_names_for_bytes(empty_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        store = empty_site.open()
        with monkeypatch.context() as before:
            before.setattr(migrating, "migrations", lambda dialect: migrations(dialect)[:1])
            assert await store.migrate() == [START]
        await _leave(empty_site)
        assert "0011_files" in await store.migrate()
        found = await store.kept.artifacts(JOB)
        assert [(each.name, each.size, each.at_ms) for each in found] == [(n, len(data), 7) for n, data in LEFT]
        for each, (_, data) in zip(found, LEFT, strict=True):
            assert b"".join([piece async for piece in store.files.read(each.blob)]) == data
            assert b"".join([piece async for piece in store.files.read(each.blob, 5)]) == data[5:]
        assert found[0].blob == found[1].blob
        assert len(await store.files.idle(1 << 62)) == 3, "the same bytes are kept once"
        assert await Sweeper(store).run_once() == Swept(0, 0, True), "all have names"
        await store.close()

    asyncio.run(check())
