"""The sweeper removes bytes that no row names, and only those; a job's artifacts go with the job."""

from pathlib import Path

import pytest

from holdfast import Context, Engine
from holdfast.chores.sweeper import GRACE_MS, PAGE, PAGES, Sweeper, Swept
from holdfast.commands.delete import delete
from holdfast.files.folder import Folder
from holdfast.files.pieces import whole
from holdfast.files.port import Blob
from holdfast.kernel.errors import NotFoundError
from holdfast.store.port import Store
from holdfast.store.store import SqlStore
from holdfast.testing import MovableClock, drain

EVER = 1 << 62


def leave(ctx: Context, name: str, text: str) -> None:
    ctx.artifact(name, text)


async def bytes_of(store: Store, job_id: str, name: str) -> bytes | None:
    found = await store.kept.artifact(job_id, name)
    return None if found is None else b"".join([piece async for piece in store.files.read(found.blob)])


def test_what_the_last_job_that_names_it_leaves_goes_with_it(app: Engine, clock: MovableClock) -> None:
    app._inside.clock = clock
    app.task(leave)
    first, second, other = (
        app.submit("leave", {"name": name, "text": text})
        for name, text in [("a", "the same"), ("b", "the same"), ("c", "more")]
    )
    drain(app)

    async def check() -> None:
        store = await app._inside.opened()
        sweeper = Sweeper(store)
        assert len(await store.files.idle(EVER)) == 2, "the same bytes are one blob"
        clock.advance("2h")
        assert await sweeper.run_once() == Swept(0, 0, True), "rows name them"
        await delete(store, [first.id])
        assert await sweeper.run_once() == Swept(0, 0, True), "another row names it"
        await delete(store, [second.id])
        assert await sweeper.run_once() == Swept(1, 0, True)
        assert await bytes_of(store, other.id, "c") == b"more"
        assert await bytes_of(store, second.id, "b") is None

    app._inside.portal.call(check())


def test_a_name_that_is_given_to_other_bytes_leaves_the_old_ones_to_the_sweep(app: Engine, clock: MovableClock) -> None:
    app._inside.clock = clock

    @app.task
    def twice(ctx: Context) -> None:
        ctx.artifact("a", "first")
        ctx.artifact("a", "second")

    job = twice.submit()
    drain(app)

    async def check() -> None:
        store = await app._inside.opened()
        assert await bytes_of(store, job.id, "a") == b"second"
        clock.advance("2h")
        assert await Sweeper(store).run_once() == Swept(1, 0, True)
        assert await bytes_of(store, job.id, "a") == b"second"

    app._inside.portal.call(check())


def test_the_young_are_spared_and_the_broken_go(app: Engine, clock: MovableClock) -> None:
    app._inside.clock = clock

    async def check() -> None:
        store = await app._inside.opened()
        sweeper = Sweeper(store)
        blob = await store.files.put(whole(b"not named yet"))
        clock.now_ms += GRACE_MS
        assert await sweeper.run_once() == Swept(0, 0, True), "it may be named at the last moment"
        clock.now_ms += 1
        assert await sweeper.run_once() == Swept(1, 0, True)
        with pytest.raises(NotFoundError, match="no blob"):
            await anext(store.files.read(blob))

    app._inside.portal.call(check())


async def test_many_are_swept_in_bounded_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder, and with pages of a few, so that a run ends before the last blob and the next goes on behind it."""
    monkeypatch.setattr("holdfast.chores.sweeper.PAGE", 3)
    monkeypatch.setattr("holdfast.chores.sweeper.PAGES", 2)
    assert PAGE * PAGES >= 10_000, "what a run of real pages looks at"
    from holdfast.store.sqlite.driver import SqliteDriver

    clock = MovableClock()
    driver = SqliteDriver(tmp_path / "store.db", clock, "OFF")
    store = SqlStore(driver, files=Folder(tmp_path / "blobs", clock))
    await store.migrate()
    blobs: list[Blob] = [await store.files.put(whole(b"%d" % n)) for n in range(15)]
    clock.now_ms += GRACE_MS + 1
    sweeper = Sweeper(store)
    assert [await sweeper.run_once() for _ in range(4)] == [
        Swept(6, 0, False),
        Swept(6, 0, False),
        Swept(3, 0, True),
        Swept(0, 0, True),
    ]
    assert not list((tmp_path / "blobs").rglob(blobs[0].digest))
    await store.close()
