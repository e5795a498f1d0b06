"""What users test with: a clock that moves, a drain that runs what is due, and a look at what was submitted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast import Context, Engine, HoldfastError, Skip, TransientError
from holdfast.testing import MovableClock, assert_submitted, drain, temporary_engine

pytest_plugins = ["pytester"]


def test_the_clock_moves_only_when_told() -> None:
    clock = MovableClock()
    before = clock()
    assert clock() == before
    assert clock.advance("5m") == before + 300_000
    assert clock.advance(timedelta(seconds=1)) == before + 301_000
    assert clock.advance_to(datetime(2027, 1, 1, tzinfo=UTC)) == 1_798_761_600_000
    assert clock.now == datetime(2027, 1, 1, tzinfo=UTC)
    with pytest.raises(HoldfastError, match="only moves forward"):
        clock.advance_to(before)
    with pytest.raises(HoldfastError, match="time zone"):
        clock.advance_to(datetime(2030, 1, 1))  # noqa: DTZ001 - that it is naive is the point


def test_drain_runs_what_is_due_and_what_that_submits(holdfast_engine: Engine) -> None:
    seen: list[str] = []

    @holdfast_engine.task
    def parent(name: str) -> str:
        child.submit(name)
        return name

    @holdfast_engine.task(queue="other")
    def child(name: str) -> None:
        seen.append(name)

    jobs = parent.submit_many([("a",), ("b",)])
    assert drain(holdfast_engine).runs == 4
    assert sorted(seen) == ["a", "b"]
    assert [job.result(timeout=0) for job in jobs] == ["a", "b"]
    assert drain(holdfast_engine).runs == 0


def test_drain_moves_no_time_unless_asked(holdfast_engine: Engine, holdfast_clock: MovableClock) -> None:
    @holdfast_engine.task
    def later() -> str:
        return "done"

    before = holdfast_clock()
    job = later.options(delay="1h").submit()
    assert drain(holdfast_engine) == (0, 0)
    assert (holdfast_clock(), job.state()) == (before, "queued")
    holdfast_clock.advance("59m")
    assert drain(holdfast_engine).runs == 0
    holdfast_clock.advance("1m")
    assert drain(holdfast_engine).runs == 1
    assert job.result(timeout=0) == "done"


def test_drain_moves_the_clock_through_every_retry(holdfast_engine: Engine, holdfast_clock: MovableClock) -> None:
    tries: list[int] = []

    @holdfast_engine.task(retries=3, backoff="10s")
    def flaky() -> str:
        tries.append(holdfast_clock())
        if len(tries) < 4:
            raise TransientError("not yet")
        return "at last"

    job = flaky.submit()
    drained = drain(holdfast_engine, move_clock=True)
    assert job.result(timeout=0) == "at last"
    assert drained.runs == 4
    # Ten, twenty and forty seconds, of which jitter takes up to a half.
    assert 35_000 <= drained.moved_ms <= 70_000
    assert tries == sorted(tries)


def test_drain_expires_what_waits_too_long(holdfast_engine: Engine, holdfast_clock: MovableClock) -> None:
    @holdfast_engine.task(lifecycle="workflow")
    def late() -> None: ...

    job = late.options(delay="2h", expires="1h").submit()
    assert drain(holdfast_engine, move_clock=True) == (0, 3_600_000)
    assert job.state() == "EXPIRED"


def test_drain_plays_a_day_of_a_schedule(holdfast_engine: Engine) -> None:
    @holdfast_engine.task
    def tick() -> None: ...

    holdfast_engine.schedule("hourly", tick, cron="0 * * * *")
    drained = drain(holdfast_engine, move_clock="1d")
    assert drained == (24, 86_400_000)
    assert len(assert_submitted(holdfast_engine, tick)) == 24


def test_drain_stops_when_told(holdfast_engine: Engine) -> None:
    runs: list[int] = []

    @holdfast_engine.task
    def again() -> None:
        runs.append(1)
        again.submit()

    first = again.submit()
    drain(holdfast_engine, until=first)
    assert first.state() == "succeeded"
    drain(holdfast_engine, until=lambda: len(runs) >= 5)
    assert len(runs) >= 5
    with pytest.raises(TimeoutError):
        drain(holdfast_engine, timeout=0.2)


async def test_drain_runs_async_tasks_and_their_contexts(holdfast_engine: Engine) -> None:
    @holdfast_engine.task
    async def deep(ctx: Context, n: int) -> int:
        return await ctx.astep("double", double, n)

    async def double(n: int) -> int:
        return 2 * n

    @holdfast_engine.task(lifecycle="workflow")
    def nothing() -> None:
        raise Skip("nothing to do")

    job, skipped = await deep.asubmit(4), await nothing.asubmit()
    drain(holdfast_engine)
    assert await job.aresult(timeout=0) == 8
    assert await skipped.astate() == "SKIPPED"


def test_assert_submitted_finds_by_arguments_and_queue(holdfast_engine: Engine) -> None:
    @holdfast_engine.task
    def mail(to: str, copies: tuple[str, ...] = ()) -> None: ...

    mail.options(queue="mails").submit("a@b", copies=("c",))
    [job] = assert_submitted(holdfast_engine, mail, args={"to": "a@b"}, queue="mails")
    assert job.task == "mail"
    assert_submitted(holdfast_engine, "mail", args={"copies": ("c",)}, count=1)
    assert_submitted(holdfast_engine, mail, queue="default", count=0)
    with pytest.raises(AssertionError, match=r"was not submitted; of this task there is:\n  mail args="):
        assert_submitted(holdfast_engine, mail, args={"to": "x@y"})
    with pytest.raises(AssertionError, match="submitted 1 times, not 2"):
        assert_submitted(holdfast_engine, mail, count=2)
    with pytest.raises(AssertionError, match="there is: nothing"):
        assert_submitted(holdfast_engine, "letter")


def test_an_application_is_taken_off_its_own_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/own.db"
    app = Engine(url)

    @app.task
    def noop() -> int:
        return 1

    with temporary_engine(app) as engine:
        assert engine is app
        job = noop.submit()
        assert drain(app, move_clock=True).runs == 1
        assert job.result(timeout=0) == 1
    assert app.url == url
    assert not (tmp_path / "own.db").exists()
    assert app.list_jobs() == []
    with pytest.raises(HoldfastError, match="cannot be moved"):
        drain(app, move_clock=True)
    app.close()


USERS_SUITE = """
import pytest
from holdfast import Engine
from holdfast.testing import drain

app = Engine("sqlite:////nowhere/at/all.db")

@app.task
def double(n: int) -> int:
    return 2 * n

@pytest.fixture
def holdfast_app():
    return app

def test_it(holdfast_engine, holdfast_clock):
    job = double.options(delay="1h").submit(4)
    holdfast_clock.advance("1h")
    drain(holdfast_engine)
    assert job.result(timeout=0) == 8
"""


@pytest.mark.slow
def test_the_plugin_serves_a_suite_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(USERS_SUITE)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    result = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", "-W", "error")
    result.assert_outcomes(passed=1)


@pytest.mark.slow
def test_the_plugin_costs_nothing_until_it_is_used(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import sys\ndef test_it():\n    assert 'holdfast.runtime.engine' not in sys.modules")
    pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=1)
