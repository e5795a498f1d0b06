"""What the crawl's document asks of the engine: its triggers, counters, heartbeat, time limits and cancels."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast import Context, Engine, JobFailedError, LeaseConflictError, TransientError, WaitTimeoutError
from holdfast.chores.reaper import Reaper
from holdfast.commands.triggers import Triggers
from holdfast.kernel.job import Spec
from holdfast.store.port import Store
from holdfast.systems.crawl.lifecycle import CRAWL
from holdfast.testing import MovableClock, drain
from holdfast.views.job import job_view
from holdfast.worker.renewer_process import Leases
from tests.app import note, noted
from tests.engines import engine_on, on_store
from tests.working import events_of, job_of, signals_of, until, working

COUNTERS = (
    "urls_total",
    "urls_enqueued",
    "urls_processed",
    "documents_emitted",
    "chunks_indexed",
    "tokens_estimated",
    "duration_seconds",
)


@pytest.fixture
def app(database: str) -> Iterator[Engine]:
    """By the real clock: what runs here takes its time."""
    with engine_on(database) as engine:
        yield engine


def view(app: Engine, job_id: str) -> dict[str, Any]:
    return job_view(job_of(app, job_id), CRAWL, signals_of(app, job_id))


@pytest.mark.rule("C03")
def test_every_trigger_exists_under_its_name_and_does_what_it_says(database: str) -> None:
    clock = MovableClock()
    assert set(CRAWL.triggers) == {"accept", "start", "heartbeat", "progress", "complete", "error", "cancel"}

    def spec(number: int) -> Spec:
        return Spec(
            f"00000000-0000-7000-8000-00000000000{number}", "crawl", "crawl", "{}", max_tries=7, lease_ms=90_000
        )

    async def act(store: Store) -> None:
        crawler = Triggers(store, "crawler-1")
        done, again, bad, never = [await crawler.accept(spec(n)) for n in range(1, 5)]
        queued = await store.reads.get(done)
        assert queued is not None
        assert queued.state == "queued"
        job = await crawler.start()
        assert job is not None
        assert (job.id, job.state, job.lease_owner, job.started_at_ms) == (done, "running", "crawler-1", clock())
        clock.advance("10s")
        await crawler.heartbeat(job)
        await crawler.progress(job, 2, 8, urls_processed=2)
        beaten = await store.reads.get(done)
        assert beaten is not None
        shown = job_view(beaten, CRAWL, await store.reads.signals(done))
        assert shown["updated_at"] > shown["started_at"]
        assert (shown["progress"]["counters"], shown["progress"]["eta_seconds"]) == ({"urls_processed": 2}, 30.0)
        ended = await crawler.complete(job, {"documents": 8})
        assert (ended.state, json.loads(ended.outcome or "")["result"]) == ("succeeded", {"documents": 8})
        with pytest.raises(LeaseConflictError):
            await crawler.heartbeat(job)
        with pytest.raises(LeaseConflictError):
            await crawler.complete(job)

        failing = await crawler.start()
        assert failing is not None
        assert failing.id == again
        waits = await crawler.error(failing, "network_error", "reset", {"url": "http://a/"})
        assert (waits.state, waits.attempt) == ("retry_pending", 2)
        assert 0 < waits.due_at_ms - clock() <= 2_000
        wrong = await crawler.start()
        assert wrong is not None
        assert wrong.id == bad
        failed = await crawler.error(wrong, "invalid_url", "no scheme", {"url": "::"})
        error = json.loads(failed.outcome or "")["error"]
        assert (failed.state, error["code"], error["context"]["url"]) == ("failed", "invalid_url", "::")
        assert (await crawler.cancel(never)).state == "cancelled"
        assert str(CRAWL.state("cancelled")) == "canceled"

    with engine_on(database, clock) as app:
        on_store(app, act)


@pytest.mark.slow
@pytest.mark.rule("C09")
def test_a_cancel_keeps_what_there_is_marks_it_and_drops_its_sessions(app: Engine, tmp_path: Path) -> None:
    file = str(tmp_path / "notes")

    @asynccontextmanager
    async def session() -> AsyncIterator[None]:
        """Stands for a browser's."""
        note(file, "opened")
        try:
            yield
        finally:
            note(file, "dropped")

    @app.task(lifecycle="crawl", backoff="1h")
    async def crawl(ctx: Context, how: str) -> list[str]:
        if how == "fails":
            raise TransientError("later", code="network_error")
        pages: list[str] = []
        async with session():
            while not ctx.cancelled or how == "deaf":
                pages.append("page")
                await asyncio.sleep(0.02)
        return pages

    with working(app):
        running, deaf = crawl.submit("well"), crawl.submit("deaf")
        waiting, retrying = crawl.options(delay="1h").submit("well"), crawl.submit("fails")
        until(lambda: noted(file) == ["opened"] * 2)
        until(lambda: retrying.state() == "retry_pending")
        assert running.cancel("enough") == "running"
        assert running.wait(20) == "canceled"
        assert deaf.cancel("now", mode="hard") == "canceled"
        assert waiting.cancel("never mind") == "canceled"
        assert retrying.cancel("never mind") == "canceled"
        until(lambda: noted(file).count("dropped") == 2)
    for job in (running, deaf, waiting, retrying):
        shown = view(app, job.id)
        assert shown["canceled_at"] == shown["finished_at"] is not None
        assert events_of(app, job.id)[-1].to_state == "cancelled"
    kept = view(app, running.id)
    assert kept["partial"] is True
    assert "page" in kept["result"]
    assert view(app, waiting.id)["partial"] is False


@pytest.mark.slow
def test_a_cancel_is_not_forgotten_by_a_run_that_fails_or_is_lost(app: Engine, tmp_path: Path) -> None:
    file = str(tmp_path / "notes")

    @app.task(lifecycle="crawl")
    async def stumbles(ctx: Context) -> None:
        note(file, "began")
        while not ctx.cancelled:  # noqa: ASYNC110 - that is how a handler asks
            await asyncio.sleep(0.02)
        raise TransientError("the browser went away", code="browser_crash")

    @app.task(lifecycle="crawl", timeout="1500ms")
    async def sleeps() -> None:
        note(file, "began")
        await asyncio.sleep(60)

    with working(app):
        jobs = [stumbles.submit(), sleeps.submit()]
        until(lambda: len(noted(file)) == 2)
        for job in jobs:
            job.cancel("enough")
            assert job.wait(20) == "canceled"
            assert events_of(app, job.id)[-1].reason == "enough"


@pytest.mark.slow
@pytest.mark.rule("C10")
@pytest.mark.parametrize("executor", ["thread", pytest.param("process", marks=pytest.mark.slow)])
def test_seven_counters_and_an_eta_while_it_runs_and_after(app: Engine, tmp_path: Path, executor: str) -> None:
    go_on = tmp_path / "go on"
    app.task(lifecycle="crawl", executor=executor, name="crawl")(counting)
    with working(app):
        job = app.submit("crawl", {"go_on": str(go_on)})
        until(lambda: ((view(app, job.id)["progress"] or {}).get("counters") or {}).get("urls_processed") == 2)
        shown = view(app, job.id)
        assert shown["state"] == "running"
        now = shown["progress"]
        assert (now["done"], now["total"]) == (2, 8)
        assert now["eta_seconds"] > 0
        assert set(now["counters"]) == set(COUNTERS)
        assert now["counters"] == now["counters"] | {"urls_total": 8, "urls_enqueued": 8, "documents_emitted": 2}
        go_on.touch()
        job.wait(20)
        # At once: the last word is written with the end, not after it.
        after = view(app, job.id)["progress"]
    assert (after["done"], after["total"], after["eta_seconds"]) == (8, 8, None)
    assert after["counters"].pop("duration_seconds") >= 0.1
    assert after["counters"] == {
        "urls_total": 8,
        "urls_enqueued": 8,
        "urls_processed": 8,
        "documents_emitted": 8,
        "chunks_indexed": 24,
        "tokens_estimated": 800,
    }
    # Signals are gone after a day, the counters are not.
    assert job_view(job.job(), CRAWL)["progress"]["counters"]["tokens_estimated"] == 800
    assert json.loads(signals_of(app, job.id)[-1].payload)["counters"]["urls_processed"] == 8


def counting(ctx: Context, go_on: str) -> None:
    ctx.count(urls_total=8, urls_enqueued=8)
    for n in range(1, 9):
        time.sleep(0.05)
        ctx.count(urls_processed=1, documents_emitted=1, chunks_indexed=3, tokens_estimated=100)
        ctx.progress(n, 8)
        while n == 2 and not Path(go_on).exists():
            time.sleep(0.02)


@pytest.mark.rule("C13")
def test_a_beat_every_10_s_and_after_90_s_of_silence_timeout_soft(database: str) -> None:
    clock = MovableClock()
    with engine_on(database, clock) as app:

        @app.task(lifecycle="crawl")
        async def crawl(ctx: Context) -> None:
            while not ctx.cancelled:  # noqa: ASYNC110 - that is how a handler asks
                await asyncio.sleep(0.02)

        # A worker tells its heart to beat every 10 s, and the heart does.
        with working(app, heartbeat=True) as worker:
            beating = crawl.submit()
            heart = worker.renewer
            assert heart is not None
            [hold] = until(lambda: list(heart._holds.values()))
            assert (hold.every_ms, hold.lease_s) == (10_000, 90.0)
            told = Leases()
            told.tell([hold.every_ms, 1_000.0, [["a", 1]], [], None])
            assert [told.due(at_s) != [] for at_s in (1_009.9, 1_010.0)] == [False, True]
            told.renewed(told.due(1_010.0), 1_010.0)
            assert [told.due(at_s) != [] for at_s in (1_019.9, 1_020.0)] == [False, True]
            beating.cancel()
            beating.wait(20)

        silent = crawl.submit()

        async def beats_then_silence(store: Store) -> None:
            crawler = Triggers(store, "crawler-1")
            job = await crawler.start()
            assert job is not None
            for _ in range(12):
                clock.advance("10s")
                await crawler.heartbeat(job)
                assert await Reaper(store).run_once() == 0
            clock.advance("89s")
            assert await Reaper(store).run_once() == 0
            clock.advance("1s")
            assert await Reaper(store).run_once() == 1

        on_store(app, beats_then_silence)
        assert silent.state() == "retry_pending"
        lost = silent.events()[-1]
        assert (lost.type, lost.reason, lost.attempt) == ("job_lease_expired", "timeout_soft", 2)
        assert silent.job().due_at_ms == clock()
        assert len([s for s in signals_of(app, silent.id) if s.type == "job_lease_renewed"]) == 12


@pytest.mark.slow
@pytest.mark.rule("C14")
def test_a_synchronous_call_has_300_s_and_a_job_a_limit_of_its_own(database: str) -> None:
    assert Engine(database)._inside.wait_s == 300
    with engine_on(database) as app:

        @app.task(lifecycle="crawl", retries=0)
        async def crawl(seconds: float) -> str:
            await asyncio.sleep(seconds)
            return "done"

        with working(app):
            long = crawl.options(timeout="200ms").submit(30)
            with pytest.raises(JobFailedError, match=r"timeout: ran longer than its 0\.2 s"):
                long.result(20)
            assert crawl.options(timeout="20s").submit(0.4).result(20) == "done"
            assert crawl.submit(0.4).result(20) == "done"
        app._inside.wait_s = 0.05
        with pytest.raises(WaitTimeoutError, match="it goes on"):
            crawl.submit(0).result()
        drain(app)
