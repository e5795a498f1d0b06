"""SQLite's own troubles: another process at the file, and a disk that is full."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from holdfast.store.port import Store
from tests.load.conftest import sqlite_site
from tests.load.crew import Crew
from tests.load.hands import success
from tests.load.proof import prove
from tests.load.sites import Site, specs
from tests.load.small_disk import SmallDisk, limited, small_disk


@pytest.mark.slow
async def test_a_write_lock_held_elsewhere_is_waited_for(tmp_path: Path, hands: Crew) -> None:
    site = sqlite_site(tmp_path)
    store = site.open()
    await store.migrate()
    await store.jobs.submit(specs(3))
    locker = hands.start("locker", site, hold_ms=1500)
    locker.wait_for("locked")
    began = time.monotonic()
    calls = asyncio.gather(
        store.jobs.submit(specs(2)),
        store.jobs.claim(["default"], 3, "one"),
        store.jobs.submit(specs(1, key="k"), op_id="op"),
    )
    # Readers are not held up by it.
    assert await asyncio.wait_for(store.reads.totals(), 1) == (3, 3)
    assert not calls.done()
    submitted, claimed, keyed = await calls
    assert time.monotonic() - began > 1
    assert (len(submitted), len(claimed), len(keyed)) == (2, 3, 1)
    proof = await prove(store)
    assert proof.wrong == []
    assert len(proof.jobs) == 6
    hands.join()
    await store.close()


async def test_a_new_file_that_another_process_writes_to_is_opened(tmp_path: Path) -> None:
    """SQLite refuses the switch to its write-ahead log at once then, whatever the busy timeout says."""
    site = sqlite_site(tmp_path)
    other = sqlite3.connect(site.address, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store = site.open()
    migrating = asyncio.create_task(store.migrate())
    await asyncio.sleep(0.1)
    assert not migrating.done()
    other.execute("COMMIT")
    other.close()
    assert await migrating
    assert len(await store.jobs.submit(specs(1))) == 1
    await store.close()


async def _fill_up(store: Store) -> tuple[set[str], sqlite3.Error]:
    """The jobs that were answered, and what the call was told that found no room."""
    answered: set[str] = set()
    for _ in range(10_000):
        batch = specs(20, payload='"' + "x" * 2000 + '"')
        try:
            await store.jobs.submit(batch)
        except sqlite3.Error as error:
            return answered, error
        answered.update(spec.id for spec in batch)
    raise AssertionError("the disk never filled")


@pytest.mark.parametrize("disk", [small_disk, limited])
async def test_a_full_disk(tmp_path: Path, disk: Callable[[Path, int], AbstractContextManager[SmallDisk]]) -> None:
    with disk(tmp_path / "small", 3_000) as small:
        site = Site("sqlite", str(small.folder / "jobs.db"))
        store = site.open(synchronous="FULL")
        await store.migrate()
        [first] = specs(1, queue="first", lease_ms=3_600_000)
        await store.jobs.submit([first])
        [job] = await store.jobs.claim(["first"], 1, "one")

        answered, error = await _fill_up(store)
        assert "full" in str(error) or "disk I/O" in str(error), f"the error does not name the disk: {error}"
        # Again and again: each call says the same, and none of them breaks the store.
        for _ in range(5):
            with pytest.raises(sqlite3.Error, match=r"full|disk I/O"):
                await store.jobs.submit(specs(20, payload='"' + "x" * 2000 + '"'))
        # More than the cache holds: this one finds no room in the middle, not at its commit.
        with pytest.raises(sqlite3.Error, match=r"full|disk I/O"):
            await store.jobs.submit(specs(4_000, payload='"' + "x" * 2000 + '"'))
        # What is there can be read.
        assert await store.reads.totals() == (len(answered) + 1,) * 2

        small.free()
        applied = await store.jobs.apply(success([job], "one"))
        assert applied.versions == {job.id: 4}
        more = specs(20)
        await store.jobs.submit(more)
        proof = await prove(store)
        assert proof.wrong == []
        assert set(proof.jobs) == answered | {first.id} | {spec.id for spec in more}
        await store.close()

        connection = sqlite3.connect(site.address)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
