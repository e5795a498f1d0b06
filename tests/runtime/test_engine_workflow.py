"""What the workflow scheduler's rules ask of the library, on both stores."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from holdfast import Context, Engine, HoldfastError, TransientError
from holdfast.chores.pruner import Pruner
from holdfast.chores.sealer import Sealer
from holdfast.kernel.errors import NotAllowedError, NotFoundError
from holdfast.kernel.job import text_digest
from holdfast.kernel.retry import workflow
from holdfast.testing import MovableClock, drain
from tests.engines import STORES, address, engine_on


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture(params=STORES)
def app(request: pytest.FixtureRequest, tmp_path: Path, clock: MovableClock) -> Iterator[Engine]:
    with engine_on(address(request, tmp_path), clock) as engine:
        yield engine


@pytest.mark.rule("W03")
def test_a_job_has_the_fields_of_its_document(app: Engine, clock: MovableClock) -> None:
    @app.task(lifecycle="workflow", name="publish", backoff=workflow(3, 5_000, backoff=True), retries=3)
    def publish(page: str) -> None: ...

    start, keep = clock.now + timedelta(hours=1), clock.now + timedelta(days=3)
    job = publish.options(priority=7, start_after=start, expires="2h", keep_until=keep).submit("front")
    row = job.job()
    assert (row.task, row.priority, json.loads(row.payload or "")) == ("publish", 7, {"page": "front"})
    assert job.state() == "CREATED"
    assert row.max_tries == 1 + 3
    retry = publish.definition.retry
    assert (retry.max_tries, retry.base_ms, retry.factor) == (4, 5_000, 2.0)
    assert row.due_at_ms == clock() + 3_600_000
    assert row.expires_at_ms == clock() + 7_200_000
    assert row.keep_until_ms == clock() + 3 * 86_400_000


@pytest.mark.rule("W04")
def test_nothing_starts_before_its_start_after(app: Engine, clock: MovableClock) -> None:
    @app.task(lifecycle="workflow")
    def step() -> int:
        return clock()

    start = clock.now + timedelta(minutes=10)
    job = step.options(start_after=start).submit()
    clock.advance("9m59s")
    assert drain(app).runs == 0
    assert job.state() == "CREATED"
    clock.advance("1s")
    assert drain(app).runs == 1
    assert job.result(timeout=0) == round(start.timestamp() * 1_000)


@pytest.mark.rule("W05")
def test_what_waits_too_long_expires_for_its_start_or_a_retry(app: Engine, clock: MovableClock) -> None:
    @app.task(lifecycle="workflow", backoff=workflow(3, 3_600_000, backoff=False), retries=3)
    def step() -> None:
        raise TransientError("not now")

    waits = step.options(delay="1h", expires="30m").submit()
    retries = step.options(expires="30m").submit()
    drain(app)
    assert (waits.state(), retries.state()) == ("CREATED", "RETRY")
    clock.advance("29m")
    drain(app)
    assert not waits.state().is_terminal()
    clock.advance("1m")
    drain(app)
    assert (waits.state(), retries.state()) == ("EXPIRED", "EXPIRED")
    assert {job.events()[-1].type for job in (waits, retries)} == {"job_expired"}


def test_what_a_handler_says_of_its_output_is_kept_with_the_outcome(app: Engine) -> None:
    @app.task(lifecycle="workflow")
    def step() -> dict[str, object]:
        return {"output_metadata": {"rows": 3, "file": "a.csv"}}

    job = step.submit()
    drain(app)
    assert json.loads(job.job().outcome or "") == {"result": {"output_metadata": {"rows": 3, "file": "a.csv"}}}
    # The event binds the outcome: neither can be changed without the other.
    assert job.events()[-1].digest == text_digest(job.job().outcome)


@pytest.mark.rule("W10")
@pytest.mark.parametrize(("backoff", "waits_s"), [(True, [5, 10, 20]), (False, [5, 5, 5])])
def test_three_retries_and_then_failed(app: Engine, clock: MovableClock, backoff: bool, waits_s: list[int]) -> None:
    tries: list[int] = []

    @app.task(lifecycle="workflow", retries=3, backoff=workflow(3, 5_000, backoff=backoff))
    def step() -> None:
        tries.append(clock())
        raise TransientError("never")

    job = step.submit()
    drain(app, move_clock=True)
    assert [(b - a) / 1_000 for a, b in pairwise(tries)] == waits_s
    assert job.state() == "FAILED"


@pytest.mark.rule("W11")
def test_every_state_that_is_not_final_can_be_cancelled(app: Engine) -> None:
    seen: list[str] = []

    @app.task(lifecycle="workflow", retries=3, backoff="1h")
    def step(ctx: Context, how: str) -> None:
        if how == "retry":
            raise TransientError("later")
        # Hard: the job is taken from its worker at once, without asking.
        seen.append(str(app.cancel_job(ctx.job_id, "by hand", mode="hard")))

    created, retry, active = step.submit("never"), step.submit("retry"), step.submit("active")
    assert app.cancel_job(created.id) == "CANCELLED"
    drain(app)
    assert retry.state() == "RETRY"
    assert app.cancel_job(retry.id, "enough") == "CANCELLED"
    assert (seen, active.state()) == (["CANCELLED"], "CANCELLED")
    for job in (created, retry, active):
        with pytest.raises(NotAllowedError):
            app.cancel_job(job.id)
    with pytest.raises(NotFoundError):
        app.cancel_job("00000000-0000-0000-0000-000000000000")


@pytest.mark.rule("W12")
def test_resume_brings_a_cancelled_job_back(app: Engine) -> None:
    @app.task(lifecycle="workflow")
    def step() -> str:
        return "done"

    @app.task
    def plain() -> None: ...

    job = step.submit()
    job.cancel("too early")
    assert app.resume_job(job.id, "now") == "CREATED"
    drain(app)
    assert job.result(timeout=0) == "done"
    assert [event.type for event in job.events()][1:3] == ["job_cancelled", "job_resumed"]
    assert job.job().attempt == 2
    other = plain.submit()
    other.cancel()
    with pytest.raises(HoldfastError):
        app.resume_job(other.id)


@pytest.mark.rule("W15")
def test_a_record_is_kept_until_its_time_and_not_longer(app: Engine, clock: MovableClock) -> None:
    @app.task(lifecycle="workflow")
    def step() -> None: ...

    kept = step.options(keep_until=clock.now + timedelta(days=30)).submit()
    usual = step.submit()
    drain(app)

    async def prune() -> int:
        store = await app._inside.opened()
        await Sealer(store).seal_all()
        return (await Pruner(store).run_once()).jobs

    def left() -> set[str]:
        return {job.id for job in app.list_jobs()}

    clock.advance("13d")
    assert (app._inside.portal.call(prune()), left()) == (0, {kept.id, usual.id})
    clock.advance("1d1s")
    assert (app._inside.portal.call(prune()), left()) == (1, {kept.id})
    clock.advance("15d")
    assert (app._inside.portal.call(prune()), left()) == (0, {kept.id})
    clock.advance("1d")
    assert (app._inside.portal.call(prune()), left()) == (1, set())
    with pytest.raises(NotFoundError, match="pruned"):
        kept.state()


@pytest.mark.rule("W17")
async def test_a_long_executor_can_ask_whether_it_was_cancelled(app: Engine) -> None:
    @app.task(lifecycle="workflow")
    async def long(ctx: Context) -> int:
        for turn in range(1_000):
            if ctx.cancelled:
                return turn
            if turn == 0:
                await app.acancel_job(ctx.job_id, "enough")
            await asyncio.sleep(0.01)
        return -1

    job = await long.asubmit()
    await asyncio.to_thread(drain, app)
    assert await job.astate() == "CANCELLED"
    outcome = json.loads(job.job().outcome or "")
    assert 0 < outcome["result"] < 1_000
