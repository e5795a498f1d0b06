"""What a job looks like from Python, and which queues are served by who is not told."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast import Engine, PermanentError
from holdfast.testing import MovableClock, drain
from tests.engines import STORES, address, engine_on

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(params=STORES)
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    clock = MovableClock(int(NOON.timestamp() * 1_000))
    with engine_on(address(request, tmp_path), clock) as engine:
        yield engine


def test_a_job_says_what_it_was_given_and_what_came_of_it(app: Engine) -> None:
    @app.task(lifecycle="workflow")
    def half(of: float) -> float:
        if of < 0:
            raise PermanentError("below zero", code="E_SIGN")
        return of / 2

    good, bad, late = half.submit(5), half.submit(of=-1), half.options(delay="1h").submit(2)
    drain(app)
    ended, failed, waiting = (app.get_job(job.id) for job in (good, bad, late))
    assert (ended.state, ended.canonical_state, ended.args, ended.result, ended.error) == (
        "COMPLETED",
        "succeeded",
        {"of": 5.0},
        2.5,
        None,
    )
    assert (ended.created_at, ended.finished_at, ended.lease, ended.max_attempts) == (NOON, NOON, None, 3)
    assert failed.error is not None
    assert (failed.state, failed.error["code"], failed.error["message"]) == ("FAILED", "E_SIGN", "below zero")
    assert (waiting.result, waiting.started_at, waiting.due_at) == (None, None, NOON.replace(hour=13))


def test_a_worker_that_is_not_told_serves_the_queues_of_its_tasks(app: Engine) -> None:
    @app.task(queue="sums")
    def add(a: int, b: int) -> int:
        return a + b

    app._inside.clock = None
    with app.worker() as worker:
        assert set(worker.queues) == {"default", "sums"}


def test_a_job_that_runs_says_who_holds_it(app: Engine) -> None:
    seen: list[object] = []

    @app.task(lease="60s")
    def look() -> None:
        [job] = app.list_jobs(state="running")
        seen.append(job.lease)

    look.submit()
    drain(app)
    [lease] = seen
    assert isinstance(lease, dict)
    assert lease["owner"]
    assert lease["until"] == NOON.replace(minute=1)
