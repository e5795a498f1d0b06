"""Cancel: before the start, between stages, in the middle of one."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast import Context, Engine, JobCancelledError
from holdfast.systems.pipeline.declare.pipeline import Pipeline
from holdfast.testing import drain
from tests.working import until, working

STAGES = ("one", "two", "three")


@pytest.fixture
def ran() -> list[str]:
    return []


def declared(app: Engine, ran: list[str], cancel_in: str | None = None) -> Pipeline[dict[str, Any]]:
    """Three stages; one of them has its own job cancelled while it runs, and takes no notice."""
    pipe = app.pipeline("steps")

    def declare(name: str) -> None:
        @pipe.stage(name=name)
        def _(ctx: Context) -> str:
            ran.append(name)
            if name == cancel_in:
                app.cancel_job(ctx.job_id, "enough")
            return name

    for name in STAGES:
        declare(name)
    return pipe


@pytest.mark.rule("P04")
@pytest.mark.parametrize("cancel_in", [None, *STAGES])
def test_stages_run_in_order_and_cancellation_is_looked_for_before_each(
    app: Engine, ran: list[str], cancel_in: str | None
) -> None:
    """The request is in the database alone: no watcher has told the run of it. The next stage does not begin."""
    job = declared(app, ran, cancel_in).submit()
    drain(app)
    before = STAGES.index(cancel_in) + 1 if cancel_in else len(STAGES)
    assert ran == list(STAGES[:before])
    assert job.state() == ("CANCELLED" if cancel_in in ("one", "two") else "COMPLETED"), "all was done by then"
    if cancel_in == "one":
        shown = [(stage["status"], stage["reason"]) for stage in job.stages()]
        assert shown == [
            ("completed", None),
            ("skipped", "the job ended before it"),
            ("skipped", "the job ended before it"),
        ]
        with pytest.raises(JobCancelledError):
            job.result(1)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.rule("P08")
@pytest.mark.parametrize("how", ["async", "sync", "hard", "before"])
def test_cancel_is_recorded_and_interrupts(app: Engine, how: str, gate: threading.Event) -> None:
    """A coroutine where it waits, a thread where it asks; before the start no stage runs at all."""
    pipe = app.pipeline("long")
    begun, interrupted = threading.Event(), threading.Event()
    ran: list[str] = []

    if how == "async":

        @pipe.stage(name="first")
        async def _() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                interrupted.set()
                raise
    else:

        @pipe.stage(name="first")
        def _(ctx: Context) -> None:
            ran.append("first")
            begun.set()
            try:
                while not gate.wait(0.01):
                    ctx.check()
            except BaseException:
                interrupted.set()
                raise

    @pipe.stage
    def second() -> None:
        ran.append("second")

    job = pipe.submit()
    if how == "before":
        assert job.cancel("enough") == "CANCELLED", "at once, not when the sweep comes"
        drain(app)
        assert ran == []
        assert [stage["status"] for stage in job.stages()] == ["skipped", "skipped"]
        return
    with working(app):
        assert begun.wait(10)
        job.cancel("enough", mode="hard" if how == "hard" else "soft")
        if how != "hard":
            asked = job.job()
            assert asked.cancel_requested == "soft: enough" or asked.state == "cancelled"
        assert interrupted.wait(10)
        until(lambda: job.state() == "CANCELLED")
    assert "second" not in ran
    assert job.events()[-1].reason == "enough"
    assert job.job().finished_at_ms is not None


def test_a_coroutine_that_swallows_its_interruption_is_cancelled_all_the_same(app: Engine) -> None:
    pipe = app.pipeline("deaf")
    begun = threading.Event()

    @pipe.stage
    async def first() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "as if nothing had been"
        return "never"

    with working(app):
        job = pipe.submit()
        assert begun.wait(10)
        job.cancel("enough")
        until(lambda: job.state() == "CANCELLED")
    assert [stage["status"] for stage in job.stages()] == ["skipped"]
