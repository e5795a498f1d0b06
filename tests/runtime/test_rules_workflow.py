"""What the scheduler's document asks of the engine: a job's fields, how long it may run, what it leaves."""

import asyncio
import json
import re
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import Context, Engine, HoldfastError, PermanentError, Skip, TransientError
from holdfast.chores.pruner import Pruner
from holdfast.chores.sealer import Sealer
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.retry import workflow
from holdfast.testing import MovableClock, drain
from holdfast.views.job import iso, job_view
from holdfast.worker.renewer_process import Leases
from tests.app import note, noted, spin
from tests.engines import engine_on
from tests.working import events_of, job_of, until, working


def view(app: Engine, job_id: str) -> dict[str, Any]:
    return job_view(job_of(app, job_id), WORKFLOW)


@pytest.mark.rule("W03")
def test_a_job_is_given_every_field_of_the_document_and_shows_it(database: str) -> None:
    clock = MovableClock()
    with engine_on(database, clock) as app:
        tries: list[int] = []

        @app.task(lifecycle="workflow", name="extract")
        def extract(asset_key: str) -> None:
            tries.append(clock())
            raise TransientError("no")

        @app.task(lifecycle="workflow", retries=3, backoff=workflow(3, 7_000, backoff=False))
        def other() -> None: ...

        start, keep = clock.now + timedelta(minutes=1), clock.now + timedelta(days=7)
        job = extract.options(
            priority=4,
            retry_limit=3,
            retry_delay=5,
            retry_backoff=False,
            start_after=start,
            expires=3_600,
            keep_until=keep,
        ).submit("s3://bucket/document.pdf")
        shown = view(app, job.id)
        wanted = {
            "name": "extract",
            "priority": 4,
            "data": {"asset_key": "s3://bucket/document.pdf"},
            "state": "CREATED",
            "retry_limit": 3,
            "retry_delay": 5.0,
            "retry_backoff": False,
            "start_after": iso(clock() + 60_000),
            "expire_in_seconds": 3_600.0,
            "keep_until": iso(clock() + 7 * 86_400_000),
        }
        assert {name: shown[name] for name in wanted} == wanted
        # They are more than words.
        drain(app, move_clock=True)
        began = round(start.timestamp() * 1_000)
        assert tries == [began, began + 5_000, began + 10_000, began + 15_000]
        assert job.state() == "FAILED"
        # A task's own terms are its jobs' terms, and the document's defaults those of one that has none.
        shown = view(app, other.submit().id)
        assert (shown["retry_limit"], shown["retry_delay"], shown["retry_backoff"]) == (3, 7.0, False)
        shown = view(app, extract.submit("x").id)
        assert (shown["retry_limit"], shown["retry_delay"], shown["retry_backoff"]) == (2, 2.0, True)
        assert shown["expire_in_seconds"] == 900
        for wrong, field in (({"retry_limit": -1}, "retry_limit"), ({"retry_delay": "soon"}, "retry_delay")):
            with pytest.raises(HoldfastError) as caught:
                extract.options(**wrong).submit("x")
            assert caught.value.field == field


@pytest.mark.slow
@pytest.mark.rule("W07")
@pytest.mark.parametrize("kind", ["loop", "thread", "hogs", "process"])
def test_a_run_past_its_time_is_over(app: Engine, tmp_path: Path, kind: str) -> None:
    file = str(tmp_path / "notes")
    short: dict[str, Any] = {"lifecycle": "workflow", "retries": 1, "backoff": "1h"}

    @app.task(**short, run_ttl="300ms")
    async def loop(file: str) -> str:
        note(file, "began")
        await asyncio.sleep(30)
        return "too late"

    @app.task(**short, run_ttl="300ms")
    async def hogs(file: str) -> str:
        """Keeps the loop to itself, so that nobody can end it in time."""
        note(file, "began")
        spin(1)
        return "too late"

    app.task(**short, timeout="300ms", name="thread")(overstays)
    app.task(**short, run_ttl="3s", executor="process", name="process")(overstays)  # it has to start first
    assert WORKFLOW.policies.run_ttl_ms == 60_000, "where nobody says how long"
    with working(app, heartbeat=True) as worker:
        job = app.submit(kind, {"file": file})
        until(lambda: job.state() == "RETRY")
        ended = events_of(app, job.id)[-1]
        assert (ended.type, ended.reason, ended.to_state) == ("job_retry_scheduled", "timeout", "retry_pending")
        assert worker.renewer is not None
        assert worker.renewer._holds == {}, "its lease is not renewed any more"
        app.retry_job(job.id)
        until(lambda: job.state() == "FAILED")
    assert len(noted(file)) == 2
    error = view(app, job.id)["error"]
    assert error["code"] == "timeout"
    assert re.fullmatch(r"ran longer than its (0\.3|3) s", error["message"])
    assert app.get_job(job.id).outcome != '{"result":"too late"}'


def overstays(file: str) -> str:
    note(file, "began")
    time.sleep(2 if threading.current_thread() is not threading.main_thread() else 30)
    return "too late"


def test_a_run_that_nobody_ends_is_not_kept_alive_either() -> None:
    """A worker whose loop is stuck cannot end the run: its heart, a process of its own, lets the lease end."""
    heart = Leases()
    heart.tell([1_000, 50.0, [["a", 1], ["b", 1]], [], 53.0])
    heart.tell([1_000, 50.0, [["c", 1]], [], None])
    assert [lease.job_id for lease in heart.due(51.0)] == ["a", "b", "c"]
    heart.renewed(heart.due(51.0), 51.0)
    assert [lease.job_id for lease in heart.due(52.9)] == ["a", "b", "c"]
    assert [lease.job_id for lease in heart.due(53.0)] == ["c"]


@pytest.mark.rule("W08")
@pytest.mark.parametrize("executor", ["thread", pytest.param("process", marks=pytest.mark.slow)])
def test_output_metadata_is_stored_with_the_outcome(app: Engine, executor: str) -> None:
    app.task(lifecycle="workflow", retries=0, executor=executor, name="extract")(extract)
    with working(app):
        jobs = {end: app.submit("extract", {"end": end}) for end in ("done", "skip", "fail", "retry", "cancel")}
        until(lambda: jobs["cancel"].state() == "ACTIVE")
        jobs["cancel"].cancel("not wanted")
        for job in jobs.values():
            job.wait(20)
        waiting = app.submit("extract", {"end": "done"}, delay="1h")
        waiting.cancel("never mind")
    shown = {end: view(app, job.id) for end, job in jobs.items()}
    assert {end: (each["state"], each["output_metadata"]) for end, each in shown.items()} == {
        "done": ("COMPLETED", {"result": "success", "pages_processed": 10}),
        "skip": ("SKIPPED", {"reason": "branch_not_taken"}),
        "fail": ("FAILED", {"error": "Connection timeout", "attempts": 1, "pages_processed": 4}),
        "retry": ("FAILED", {"error": "Connection timeout", "attempts": 1}),
        "cancel": ("CANCELLED", {"reason": "not wanted", "pages_processed": 1}),
    }
    assert shown["done"]["result"] == "text"
    assert json.loads(app.get_job(jobs["done"].id).outcome or "")["output_metadata"]["pages_processed"] == 10
    assert view(app, waiting.id)["output_metadata"] == {"reason": "never mind"}


def extract(ctx: Context, end: str) -> str:
    match end:
        case "skip":
            raise Skip("branch_not_taken")
        case "fail":
            ctx.output(pages_processed=4)
            raise PermanentError("Connection timeout")
        case "retry":
            raise TransientError("Connection timeout")
        case "cancel":
            ctx.output(pages_processed=1)
            while True:
                ctx.check()
                time.sleep(0.02)
    ctx.output(result="success")
    ctx.output(pages_processed=10)
    return "text"


@pytest.mark.rule("W15")
def test_keep_until_outlasts_retention_and_ends_before_it(database: str) -> None:
    clock = MovableClock()
    with engine_on(database, clock) as app:

        @app.task(lifecycle="workflow")
        def step() -> None: ...

        long = step.options(keep_until=clock.now + timedelta(days=30)).submit()
        short = step.options(keep_until=clock.now + timedelta(days=2)).submit()
        unfinished = step.options(keep_until=clock.now + timedelta(days=2), delay="20d", expires="100d").submit()
        usual = step.submit()
        drain(app)

        async def prune() -> int:
            store = await app._inside.opened()
            await Sealer(store).seal_all()
            return (await Pruner(store).run_once()).jobs

        def left_at(day: float) -> set[str]:
            clock.advance_to(began_ms + round(day * 86_400_000))
            app._inside.portal.call(prune())
            return {job.id for job in app.list_jobs()}

        began_ms = clock()
        assert left_at(1.99) == {long.id, short.id, unfinished.id, usual.id}
        assert left_at(2) == {long.id, unfinished.id, usual.id}, "a job that is not over is never purged"
        assert left_at(13.99) == {long.id, unfinished.id, usual.id}
        assert left_at(14.01) == {long.id, unfinished.id}, "retention has passed, and its own time has not"
        assert left_at(29.99) == {long.id, unfinished.id}
        assert left_at(30) == {unfinished.id}
        drain(app)
        assert left_at(30.01) == set()


@pytest.mark.rule("W17")
@pytest.mark.parametrize("executor", ["loop", "thread", pytest.param("process", marks=pytest.mark.slow)])
def test_a_long_executor_can_ask_wherever_it_runs(app: Engine, tmp_path: Path, executor: str) -> None:
    file = str(tmp_path / "notes")

    @app.task(lifecycle="workflow", name="loop")
    async def loop(ctx: Context, file: str) -> str:
        note(file, "began")
        while not ctx.cancelled:  # noqa: ASYNC110 - that is how a handler asks
            await asyncio.sleep(0.02)
        return "noticed"

    app.task(lifecycle="workflow", name="thread")(asks)
    app.task(lifecycle="workflow", name="process", executor="process")(asks)
    with working(app):
        job = app.submit(executor, {"file": file})
        until(lambda: noted(file))
        job.cancel("enough")
        assert job.wait(20) == "CANCELLED"
    shown = view(app, job.id)
    assert (shown["result"], shown["partial"], shown["output_metadata"]) == ("noticed", True, {"reason": "enough"})


def asks(ctx: Context, file: str) -> str:
    note(file, "began")
    while not ctx.cancelled:
        time.sleep(0.02)
    return "noticed"
