"""The public Python API, line by line, on both stores."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import (
    Context,
    Engine,
    HoldfastError,
    JobCancelledError,
    JobFailedError,
    JobHandle,
    Partial,
    PermanentError,
    Skip,
    WaitTimeoutError,
)
from holdfast.catalog import BUILT_IN
from holdfast.kernel.errors import DuplicateKeyError, NotAllowedError, NotFoundError
from holdfast.testing import MovableClock, drain
from tests.engines import STORES, address, engine_on


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture(params=STORES)
def app(request: pytest.FixtureRequest, tmp_path: Path, clock: MovableClock) -> Iterator[Engine]:
    with engine_on(address(request, tmp_path), clock) as engine:
        yield engine


@pytest.fixture(params=STORES)
def live(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """On the database's own time: for what a real worker does."""
    with engine_on(address(request, tmp_path)) as engine:
        yield engine


@dataclass
class Order:
    number: int
    lines: list[str]


def test_a_task_stays_a_function(app: Engine) -> None:
    @app.task
    def fetch(url: str) -> str:
        """Get a page."""
        return f"got {url}"

    @app.task(retries=5, timeout="10m", lease="60s", queue="texts", on_exhausted="dead_letter", name="count")
    def words(ctx: Context, html: str) -> int:
        return len(html)

    assert fetch("u") == "got u"
    assert (fetch.name, fetch.__doc__, words.name) == ("fetch", "Get a page.", "count")
    job = words.submit("abc").job()
    assert (job.task, job.queue, job.max_tries, job.lease_ms) == ("count", "texts", 6, 60_000)
    assert job.payload == '{"html":"abc"}'


@pytest.mark.slow
def test_the_interface_as_it_is_written(live: Engine) -> None:
    ran: list[str] = []

    @live.task(retries=5, timeout="10m", lease="60s", on_exhausted="dead_letter")
    def words(ctx: Context, html: str) -> int:
        total = 0
        for word in ctx.track(html.split(), "counting"):
            ran.append(word)
            total += ctx.step(f"len:{word}", len, word)
        return total

    with live.worker(concurrency=4):
        job = words.submit("a bb ccc")
        assert job.result(timeout=30) == 6
        assert job.state() == "succeeded"
        assert [event.type for event in job.events()] == [
            "job_submitted",
            "job_claimed",
            "job_started",
            "job_succeeded",
        ]
        delayed = words.options(key="w-1", delay="500ms", priority=5).submit("a b c")
        assert words.options(key="w-1").submit("another").id == delayed.id
        many = words.submit_many([("a b",), {"html": "c"}])
        assert [each.result(timeout=30) for each in many] == [2, 1]
        assert delayed.wait(timeout=30).is_successful_terminal()
    assert ran[:3] == ["a", "bb", "ccc"]


async def test_async_callers_have_the_same_with_an_a(app: Engine) -> None:
    @app.task
    async def double(n: int) -> int:
        return 2 * n

    job = await double.asubmit(4)
    assert await job.astate() == "queued"
    more = await double.asubmit_many([(5,), {"n": 6}])
    stopped = await double.asubmit(1)
    assert await stopped.acancel("no need") == "cancelled"
    drain(app)
    assert [await each.aresult(timeout=1) for each in [job, *more]] == [8, 10, 12]
    assert await job.aevents() == job.events()
    assert await job.await_(timeout=1) == "succeeded"


def test_arguments_are_checked_at_submit(app: Engine) -> None:
    @app.task
    def ship(order: Order, express: bool = False) -> int:
        return order.number

    wrong: list[tuple[Any, Any]] = [
        *(((), {}), ((1,), {}), ((Order(1, []),), {"fast": True}), ((Order(1, []), "yes"), {})),
    ]
    for args, kwargs in wrong:
        with pytest.raises(TypeError) as caught:
            ship.submit(*args, **kwargs)
        assert "ship" in str(caught.value)
        assert "it takes ship(order" in str(caught.value)
    with pytest.raises(TypeError, match="number"):
        ship.submit_many([(Order(1, []),), ({"number": "x", "lines": []},)])
    assert app.list_jobs() == []
    typed = ship.submit(Order(7, ["a"]), express=True)
    by_name = app.submit("ship", {"order": {"number": 8, "lines": []}})
    drain(app)
    assert (typed.result(timeout=0), by_name.result(timeout=0)) == (7, 8)


def test_results_come_back_typed(app: Engine) -> None:
    @app.task
    def order(number: int) -> Order:
        return Order(number, ["a"])

    job = order.submit(3)
    drain(app)
    assert job.result(timeout=0) == Order(3, ["a"])


def test_unknown_options_are_named(app: Engine) -> None:
    @app.task
    def noop() -> None: ...

    with pytest.raises(HoldfastError, match="unknown option 'prio'") as caught:
        noop.options(prio=1)  # type: ignore[call-arg]
    assert "priority" in str(caught.value.remedy)
    with pytest.raises(HoldfastError, match="unknown option 'retrys'"):
        app.task(retrys=3)(_nothing)  # type: ignore[call-overload]
    with pytest.raises(HoldfastError, match="delay"):
        noop.options(delay="soon").submit()
    with pytest.raises(HoldfastError, match="start_after"):
        noop.options(start_after=datetime(2030, 1, 1)).submit()  # noqa: DTZ001 - that it is naive is the point
    with pytest.raises(NotFoundError, match="noop"):
        app.submit("nope")


@pytest.mark.parametrize(
    "options",
    [
        {"lease": "500ms"},
        {"retries": -1},
        {"retries": True},
        {"executor": "fork"},
        {"on_exhausted": "cry"},
        {"timeout": "x"},
    ],
)
def test_bad_task_options_name_their_field(options: dict[str, Any]) -> None:
    with pytest.raises(HoldfastError) as caught:
        Engine("sqlite:///unused.db").task(**options)(_nothing)
    assert caught.value.field == next(iter(options))
    assert caught.value.remedy


def _nothing() -> None: ...


def test_two_tasks_cannot_share_a_name(app: Engine) -> None:
    app.task(name="same")(_nothing)

    def other() -> None: ...

    with pytest.raises(HoldfastError, match="two tasks are named 'same'"):
        app.task(name="same")(other)
    with pytest.raises(NotFoundError, match="imaginary"):
        app.task(lifecycle="imaginary")(_nothing)


def test_priority_decides_who_goes_first(app: Engine) -> None:
    order: list[int] = []

    @app.task
    def note(n: int) -> None:
        order.append(n)

    for priority in (0, 5, 1):
        note.options(priority=priority).submit(priority)
    drain(app)
    assert order == [5, 1, 0]


def test_keys_and_duplicates(app: Engine, clock: MovableClock) -> None:
    @app.task
    def noop(n: int) -> int:
        return n

    first = noop.options(key="k").submit(1)
    assert noop.options(key="k").submit(2).id == first.id
    with pytest.raises(DuplicateKeyError):
        noop.options(key="k", duplicates="reject").submit(2)
    newer = noop.options(key="k", duplicates="replace").submit(3)
    assert (first.state(), newer.id != first.id) == ("cancelled", True)
    drain(app)
    assert noop.options(key="k").submit(4).id != newer.id
    held = noop.options(key="w", key_window="1h").submit(5)
    drain(app)
    assert noop.options(key="w", key_window="1h").submit(5).id == held.id
    clock.advance("1h")
    assert noop.options(key="w", key_window="1h").submit(5).id != held.id
    with pytest.raises(HoldfastError, match="duplicates"):
        noop.options(key="k", duplicates="perhaps").submit(1)


def test_the_ways_a_handler_ends(app: Engine) -> None:
    @app.task(lifecycle="pipeline")
    def some() -> Partial[int]:
        return Partial(3, "two of five")

    @app.task(lifecycle="workflow")
    def none() -> None:
        raise Skip("nothing to do")

    @app.task(retries=3)
    def never() -> None:
        raise PermanentError("bad request", code="bad_request")

    jobs: list[JobHandle[Any]] = [some.submit(), none.submit(), never.submit()]
    drain(app, move_clock=True)
    assert [job.state() for job in jobs] == ["PARTIAL", "SKIPPED", "failed"]
    assert jobs[0].result(timeout=0) == 3
    assert jobs[1].result(timeout=0) is None
    with pytest.raises(JobFailedError, match="bad_request: bad request") as caught:
        jobs[2].result(timeout=0)
    assert (caught.value.job_id, caught.value.state) == (jobs[2].id, "failed")
    assert jobs[2].job().tries == 1


def test_a_cancelled_job_says_so(app: Engine) -> None:
    @app.task
    def noop() -> None: ...

    job = noop.submit()
    assert job.cancel("why") == "cancelled"
    assert job.events()[-1].reason == "why"
    with pytest.raises(JobCancelledError):
        job.result(timeout=0)
    with pytest.raises(NotAllowedError):
        job.cancel()
    with pytest.raises(HoldfastError, match="mode"):
        job.cancel(mode="gently")


@pytest.mark.rule("C14")
def test_waiting_ends_after_300_s_unless_told_otherwise(tmp_path: Path) -> None:
    assert Engine("sqlite:///unused.db")._inside.wait_s == 300
    assert Engine("sqlite:///unused.db", wait=None)._inside.wait_s is None
    app = Engine(f"sqlite:///{tmp_path}/jobs.db", wait="50ms")

    @app.task
    def noop() -> None: ...

    @app.task(timeout="50ms", retries=0)
    def slow() -> None:
        time.sleep(0.3)

    job = noop.submit()
    began = time.monotonic()
    with pytest.raises(WaitTimeoutError, match=r"is queued after 0\.05 s; it goes on"):
        job.result()
    with pytest.raises(TimeoutError):
        job.wait(timeout=0.01)
    assert time.monotonic() - began < 5
    # An asynchronous job has a limit of its own.
    late = slow.submit()
    drain(app)
    assert job.state() == "succeeded"
    with pytest.raises(JobFailedError, match="timeout"):
        late.result()
    app.close()


def test_correlation_and_trace_reach_events_context_and_children(app: Engine) -> None:
    seen: list[tuple[str, str | None]] = []

    @app.task
    def parent(ctx: Context) -> str:
        seen.append((ctx.correlation_id, ctx.trace_id))
        return child.options(correlation_id=ctx.correlation_id, trace_id=ctx.trace_id).submit().id

    @app.task
    def child(ctx: Context) -> None:
        seen.append((ctx.correlation_id, ctx.trace_id))

    job = parent.options(correlation_id="order-1", trace_id="4bf92f3577b34da6a3ce929d0e0e4736").submit()
    alone = child.submit()
    drain(app)
    ours = ("order-1", "4bf92f3577b34da6a3ce929d0e0e4736")
    assert seen.count(ours) == 2
    # A trace of its own, where something traces; never that of the others.
    assert [correlation for correlation, trace in seen if trace != ours[1]] == [alone.id]
    for handle in (job, JobHandle[Any](app._inside, job.result(timeout=0))):
        assert {(event.correlation_id, event.trace_id) for event in handle.events()} == {ours}
    assert len(app.list_jobs(correlation_id="order-1")) == 2


@pytest.mark.rule("W13")
def test_jobs_are_found_by_id_and_by_state(app: Engine) -> None:
    @app.task(lifecycle="workflow")
    def step(n: int) -> int:
        return n

    jobs = step.submit_many([(n,) for n in range(4)])
    jobs[0].cancel()
    found = app.get_job(jobs[0].id)
    assert (found.state, found.state.canonical, found.state.is_terminal()) == ("CANCELLED", "cancelled", True)
    assert [job.id for job in app.list_jobs(state="CANCELLED")] == [jobs[0].id]
    assert len(app.list_jobs(state="CREATED", limit=2)) == 2
    assert [job.state for job in app.list_jobs(state="queued", task="step")] == ["CREATED"] * 3
    with pytest.raises(NotFoundError):
        app.get_job("00000000-0000-0000-0000-000000000000")
    with pytest.raises(NotFoundError):
        app.get_job("no id at all")
    with pytest.raises(HoldfastError, match="no state 'BUSY'"):
        app.list_jobs(state="BUSY")


@pytest.mark.rule("W14")
def test_states_know_what_they_are(app: Engine) -> None:
    @app.task(lifecycle="workflow")
    def step(skip: bool) -> None:
        if skip:
            raise Skip("as asked")

    done, skipped, cancelled = step.submit(False), step.submit(True), step.submit(False)
    cancelled.cancel()
    assert not done.state().is_terminal()
    drain(app)
    asked = [(s.is_terminal(), s.is_successful_terminal(), s.was_executed()) for s in (done.state(), skipped.state())]
    assert asked == [(True, True, True), (True, True, False)]
    ended = cancelled.state()
    assert (ended.is_terminal(), ended.is_successful_terminal(), ended.was_executed()) == (True, False, False)
    assert [str(s) for s in BUILT_IN["workflow"].terminal_states()] == [
        *("COMPLETED", "SKIPPED", "EXPIRED", "CANCELLED", "FAILED"),
    ]


def test_an_engine_can_be_used_again_after_it_was_closed(app: Engine) -> None:
    @app.task
    def noop() -> int:
        return 1

    job = noop.submit()
    app.close()
    drain(app)
    assert job.result(timeout=0) == 1


def test_a_lifecycle_of_ones_own(app: Engine) -> None:
    from dataclasses import replace

    errand = replace(BUILT_IN["durable"], name="errand")

    @app.task(lifecycle=errand)
    def buy() -> str:
        return "milk"

    job = buy.submit()
    drain(app)
    assert (job.job().lifecycle, job.result(timeout=0)) == ("errand", "milk")


def test_times_may_be_said_in_every_way(app: Engine, clock: MovableClock) -> None:
    @app.task
    def noop() -> None: ...

    now_ms = clock()
    waits: list[Any] = ["90s", "1m30s", 90, 90.0, timedelta(seconds=90)]
    due = {noop.options(delay=wait).submit().job().due_at_ms - now_ms for wait in waits}
    assert due == {90_000}
    at = datetime(2026, 6, 1, 12, tzinfo=UTC)
    assert noop.options(start_after=at).submit().job().due_at_ms == round(at.timestamp() * 1_000)
