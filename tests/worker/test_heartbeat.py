"""Leases are renewed whatever handlers do, and what cannot be renewed is stopped before it is another's."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from holdfast import Context, Engine
from holdfast.store.port import Lease
from holdfast.worker.renewer import Renewer
from holdfast.worker.renewer_process import SLOWEST_TICK_S, Leases
from holdfast.worker.worker import Worker
from tests.app import noted, spin
from tests.engines import engine_on
from tests.store.scenes import START_MS
from tests.working import events_of, signals_of, until, worker_process, working


@pytest.mark.slow
@pytest.mark.rule("D08", "D09")
@pytest.mark.parametrize("hog", ["spin", "block", "regex"])
def test_a_handler_that_hogs_the_interpreter_keeps_its_lease(
    app: Engine, database: str, tmp_path: Path, hog: str
) -> None:
    """In pure Python, in the loop itself, and inside C code: for three leases of two seconds each.

    The chores run elsewhere: a write that C code comes in between would keep SQLite's one lock for as long.
    """
    log = tmp_path / "log"
    with worker_process(database, log, concurrency=2, chores=False), working(app, queues="none", chores=True):
        until(lambda: "heart_ready" in log.read_text())
        job = app.submit(hog, {"seconds": 6.2})
        assert job.wait(90) == "succeeded"
    assert [event.type for event in events_of(app, job.id)] == [
        "job_submitted",
        "job_claimed",
        "job_started",
        "job_succeeded",
    ]
    assert app.get_job(job.id).attempt == 1
    assert len([row for row in signals_of(app, job.id) if row.type == "job_lease_renewed"]) >= 5, "one at each half"


@pytest.mark.slow
@pytest.mark.rule("D07", "D08")
def test_what_cannot_be_renewed_is_stopped_before_the_lease_ends(app: Engine) -> None:
    ended: list[float] = []

    @app.task(lease="4s")
    async def long() -> None:
        began_s = time.monotonic()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(time.monotonic() - began_s)

    with working(app, heartbeat=True) as worker:
        until(lambda: worker.renewer and worker.renewer.ready)
        job = long.submit()
        until(lambda: worker.running)
        os.kill(_pid(worker), signal.SIGSTOP)
        try:
            until(lambda: worker.lost)
        finally:
            os.kill(_pid(worker), signal.SIGCONT)
        until(lambda: ended)
        assert 3.0 < ended[0] < 4.0, "late enough for a slow renewal, and before another may have it"
        assert job.state() == "running", "the store decides, not the worker"
        assert worker.running == {}


@pytest.mark.slow
@pytest.mark.rule("D09")
def test_a_heart_that_dies_is_replaced(app: Engine, tmp_path: Path) -> None:
    file = tmp_path / "naps"
    with working(app, heartbeat=True, chores=True) as worker:
        until(lambda: worker.renewer and worker.renewer.ready)
        job = app.submit("nap", {"file": str(file), "seconds": 3})
        until(lambda: noted(file))
        os.kill(_pid(worker), signal.SIGKILL)
        assert job.wait(20) == "succeeded"
        assert (worker.lost, worker.writer.refused) == (0, 0)
    assert app.get_job(job.id).attempt == 1


def _pid(worker: Worker) -> int:
    assert worker.renewer
    assert worker.renewer.pid
    return worker.renewer.pid


@pytest.mark.slow
@pytest.mark.rule("D08")
def test_a_heart_that_is_still_starting_costs_no_lease(app: Engine, tmp_path: Path) -> None:
    """Leases of a second: the loop renews them for as long as there is no heart."""
    file = tmp_path / "naps"
    job = app.submit("nap", {"file": str(file), "seconds": 2})
    with working(app, heartbeat=True, chores=True) as worker:
        until(lambda: worker.running)
        os.kill(_pid(worker), signal.SIGSTOP)
        assert job.wait(20) == "succeeded"
        assert worker.renewer
        assert not worker.renewer.ready
        os.kill(_pid(worker), signal.SIGCONT)
        goes_on_s = time.monotonic()
    assert time.monotonic() - goes_on_s < SLOWEST_TICK_S, "told to end while it starts, it ends when it has started"
    assert app.get_job(job.id).attempt == 1


@pytest.mark.slow
def test_a_heart_gets_ready_when_a_renewal_comes_near(database: str) -> None:
    """Leases of a minute that end long before cost next to nothing; one of two seconds is renewed in time."""
    with engine_on(database) as app:

        @app.task
        def short() -> None: ...

        with working(app, heartbeat=True, chores=True) as worker:
            short.submit().wait(20)
            assert worker.renewer
            until(lambda: _command(_pid(worker)).endswith("later"))
            time.sleep(0.5)
            assert not worker.renewer.ready

            @app.task(lease="2s")
            async def hog() -> None:
                await asyncio.to_thread(until, lambda: worker.renewer and worker.renewer.ready)
                spin(5.0)

            job = hog.submit()
            assert job.wait(60) == "succeeded"
            assert (worker.lost, worker.writer.refused) == (0, 0)
        assert job.job().attempt == 1
        assert len([row for row in signals_of(app, job.id) if row.type == "job_lease_renewed"]) >= 3


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()


async def nobody(leases: list[Lease]) -> list[str]:
    return []


@pytest.mark.rule("D08", "D09")
async def test_when_a_lease_is_renewed(tmp_path: Path) -> None:
    """At half of it, or as often as its lifecycle says: a crawl every 10 s, although its lease is 90 s."""
    from holdfast.catalog import BUILT_IN
    from holdfast.kernel.job import Spec
    from holdfast.store.sqlite.driver import open_sqlite

    store = open_sqlite(tmp_path / "leases.db", clock=lambda: START_MS)
    await store.migrate()
    ids = [f"00000000-0000-0000-0000-00000000000{n}" for n in (1, 2, 3)]
    await store.jobs.submit(
        [Spec(ids[0], "crawl", "t", lease_ms=90_000), Spec(ids[1], "durable", "t", lease_ms=30_000)]
    )
    await store.jobs.submit([Spec(ids[2], "durable", "t", lease_ms=120_000)])
    jobs = {job.id: job for job in await store.jobs.claim(["default"], 9, "me")}
    await store.close()

    heart, beats = Leases(), Renewer("unused", "me", lambda *_: None, nobody)
    beats._send = heart.tell  # type: ignore[method-assign] # without the process between them
    for job in jobs.values():
        beats.hold([job], BUILT_IN[job.lifecycle].policies.heartbeat_ms, 100.0)
    due = {at_s: {lease.job_id for lease in heart.due(at_s)} for at_s in (109.9, 110.1, 114.9, 115.1, 119.9, 120.1)}
    crawl, half, long = ids
    assert due == {
        109.9: set(),
        110.1: {crawl},
        114.9: {crawl},
        115.1: {crawl, half},
        119.9: {crawl, half},
        120.1: {crawl, half, long},
    }
    heart.renewed(heart.due(110.1), 110.1)
    assert heart.due(114.9) == []


@pytest.mark.slow
def test_progress_says_that_a_job_is_alive(app: Engine) -> None:
    """The trigger `heartbeat` of a crawl is its renewal, and leaves its mark."""

    @app.task(lease="1s", lifecycle="crawl")
    def crawl(ctx: Context) -> None:
        time.sleep(0.9)
        ctx.progress(1, 1)

    with working(app, heartbeat=True):
        job = crawl.submit()
        assert job.wait(20) == "succeeded"
    kinds = {row.type for row in signals_of(app, job.id)}
    assert kinds == {"job_lease_renewed", "job_progress"}
