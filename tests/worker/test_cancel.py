"""Soft: the handler hears of it and ends by itself. Hard: the job is over at once, whatever its handler does."""

import asyncio
import json
import threading
import time
from pathlib import Path

import pytest

from holdfast import Context, Engine
from tests.app import note, noted
from tests.working import events_of, until, working

HEARD_S = 10.0
"""A second, and whatever a busy machine adds; far less than the handlers would take."""


def patient(ctx: Context, file: str) -> str:
    """Ends when it is asked to, and says how far it was."""
    note(file, "began")
    ctx.artifact("part", "half")
    for n in range(1_000):
        if ctx.cancelled:
            ctx.checkpoint({"n": n})
        ctx.check()
        time.sleep(0.02)
    return "never"


def stubborn(ctx: Context, file: str) -> str:
    """Asks nobody."""
    ctx.artifact("part", "half")
    note(file, "began")
    for _ in range(60):
        time.sleep(0.1)
        note(file, "went on")
    note(file, "ended")
    return "too late"


@pytest.mark.rule("D13", "W17")
@pytest.mark.parametrize("kind", ["loop", "thread", pytest.param("process", marks=pytest.mark.slow)])
def test_soft(app: Engine, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "notes"

    @app.task
    async def loop(ctx: Context, file: str) -> str:
        note(file, "began")
        await ctx.aartifact("part", "half")
        while not ctx.cancelled:  # noqa: ASYNC110 - that is how a handler asks
            await asyncio.sleep(0.02)
        return "as far as it got"

    app.task(name="thread")(patient)
    app.task(name="process", executor="process")(patient)
    with working(app):
        job = app.submit(kind, {"file": str(file)})
        until(lambda: noted(file))
        asked_s = time.monotonic()
        assert job.cancel("enough") == "running", "the handler ends it, not the request"
        assert job.wait(20) == "cancelled"
        assert time.monotonic() - asked_s < HEARD_S
    found = app.get_job(job.id)
    assert found.finished_at_ms is not None
    ending = events_of(app, job.id)[-1]
    assert (ending.type, ending.reason) == ("job_cancelled", "enough")

    async def kept() -> tuple[list[str], str | None]:
        store = await app._inside.opened()
        return [a.name for a in await store.kept.artifacts(job.id)], await store.kept.checkpoint(job.id)

    artifacts, checkpoint = app._inside.portal.call(kept())
    assert artifacts == ["part"], "what it had made stays"
    if kind == "loop":
        assert json.loads(found.outcome or "") == {"result": "as far as it got", "partial": True}
    else:
        assert list(json.loads(checkpoint or "")) == ["n"]


def test_a_crawl_that_is_cancelled_keeps_what_it_has(app: Engine, tmp_path: Path) -> None:
    file = tmp_path / "notes"

    @app.task(lifecycle="crawl")
    def crawl(ctx: Context) -> list[str]:
        note(str(file), "began")
        pages = []
        while not ctx.cancelled:
            pages.append("page")
            time.sleep(0.02)
        return pages

    with working(app):
        job = crawl.submit()
        until(lambda: noted(file))
        job.cancel("enough")
        assert job.wait(20) == "canceled"
        waiting = crawl.options(delay="1h").submit()
        assert waiting.cancel("never mind") == "canceled"
    assert "page" in json.loads(app.get_job(job.id).outcome or "")["result"]
    assert app.get_job(waiting.id).finished_at_ms is not None


@pytest.mark.rule("D14")
@pytest.mark.parametrize("kind", ["loop", "swallows", "thread", pytest.param("process", marks=pytest.mark.slow)])
def test_hard(app: Engine, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "notes"

    @app.task
    async def loop(ctx: Context, file: str) -> None:
        await ctx.aartifact("part", "half")
        note(file, "began")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            note(file, "heard")
            raise

    @app.task
    async def swallows(ctx: Context, file: str) -> str:
        await ctx.aartifact("part", "half")
        note(file, "began")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            note(file, "heard")
        return "and went on"

    app.task(name="thread")(stubborn)
    app.task(name="process", executor="process")(stubborn)
    with working(app, concurrency=1) as worker:
        job = app.submit(kind, {"file": str(file)})
        until(lambda: noted(file))
        assert job.cancel("now", mode="hard") == "cancelled"
        after = app.submit("add", {"a": 1, "b": 1})
        assert after.result(20) == 2, "the slot is free for others"
        assert "ended" not in noted(file)
        if kind in ("loop", "swallows"):
            assert noted(file) == ["began", "heard"]
        if kind == "process":
            lines = noted(file)
            time.sleep(0.5)
            assert noted(file) == lines, "its process was killed"
        assert worker.lost == 0
    found = app.get_job(job.id)
    assert (found.state, found.outcome) == ("cancelled", None)

    async def artifacts() -> int:
        return len(await (await app._inside.opened()).kept.artifacts(job.id))

    assert app._inside.portal.call(artifacts()) == 0, "what it had made is discarded"


@pytest.mark.rule("D14")
def test_a_thread_that_is_left_behind_keeps_nothing_more(app: Engine) -> None:
    """A thread cannot be stopped: it goes on alone, its lease and whatever it would keep or return are lost."""
    began, go_on = threading.Event(), threading.Event()
    met: list[str] = []

    @app.task
    def thread(ctx: Context) -> str:
        began.set()
        go_on.wait(20)
        for name in ("artifact", "checkpoint"):
            try:
                getattr(ctx, name)(*(("late", "x") if name == "artifact" else ("x",)))
            except BaseException as error:
                met.append(type(error).__name__)
        return "too late"

    with working(app) as worker:
        job = thread.submit()
        assert began.wait(20)
        job.cancel("now", mode="hard")
        until(lambda: not worker.running)
        go_on.set()
        until(lambda: len(met) == 2)
    assert met == ["LeaseConflictError", "LeaseConflictError"]
    assert app.get_job(job.id).outcome is None
