"""`limit=`: checked where it is declared, and held over all workers."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine, HoldfastError, Limit
from holdfast.testing import MovableClock, drain
from holdfast.views.situation import explain_job
from tests.engines import STORES, address, engine_on


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture(params=STORES)
def app(request: pytest.FixtureRequest, tmp_path: Path, clock: MovableClock) -> Iterator[Engine]:
    with engine_on(address(request, tmp_path), clock) as engine:
        yield engine


def visit(url: str, host: str) -> str:
    return host


@pytest.mark.parametrize(
    ("limit", "names"),
    [
        (2, "limit is 2"),
        (("domain:{host}", 0), "running is 0"),
        (("domain:{domain}", 2), "{domain}"),
        (Limit("x"), "limits nothing"),
        (Limit("x", rate="fast"), "rate is 'fast'"),
        (Limit("x", running=1, burst=0), "burst is 0"),
    ],
)
def test_a_limit_that_cannot_hold_is_refused_where_it_is_declared(limit: Any, names: str) -> None:
    with pytest.raises(HoldfastError) as caught:
        Engine("sqlite:///never.db").task(limit=limit)(visit)
    assert names in str(caught.value)
    assert (caught.value.field, bool(caught.value.remedy)) == ("limit", True)


@pytest.mark.parametrize("key", ["", "x" * 501])
def test_a_key_that_no_index_could_hold_is_refused_at_submit(app: Engine, key: str) -> None:
    task = app.task(limit=("{host}", 1))(visit)
    with pytest.raises(HoldfastError) as caught:
        task.submit("u", key)
    assert caught.value.field == "limit"
    assert app.list_jobs() == []


def test_two_workers_together_keep_to_a_limit_per_host(app: Engine) -> None:
    app = Engine(app.url)  # on the database's own time: real workers, real handlers
    running: Counter[str] = Counter()
    most: Counter[str] = Counter()
    lock = threading.Lock()

    @app.task(limit=("domain:{host}", 2))
    def crawl(url: str, host: str) -> None:
        with lock:
            running[host] += 1
            most[host] = max(most[host], running[host])
        time.sleep(0.01)
        with lock:
            running[host] -= 1

    jobs = crawl.submit_many([(f"/{n}", host) for n in range(12) for host in ("a", "b", "c")])
    with app.worker(concurrency=8), app.worker(concurrency=8):
        for job in jobs:
            job.result(timeout=30)
    app.close()
    assert most == {"a": 2, "b": 2, "c": 2}, "as many as are allowed, and never more"


def test_a_rate_is_kept_and_not_merely_polled_for(app: Engine) -> None:
    app = Engine(app.url)
    starts: list[float] = []

    @app.task(limit=Limit("api", rate="20/s"))
    async def call() -> None:
        starts.append(time.monotonic())

    jobs = call.submit_many([()] * 12)
    with app.worker(concurrency=8):
        for job in jobs:
            job.result(timeout=30)
    app.close()
    took_s = max(starts) - min(starts)
    assert 11 * 0.05 - 0.02 <= took_s < 5.0


def test_a_key_may_be_worked_out_by_a_function(app: Engine) -> None:
    task = app.task(limit=Limit(lambda url, host: host.lower(), running=1))(visit)
    task.submit("u", "EXAMPLE.org")
    [job] = app.list_jobs()
    assert '"name":"example.org"' in (job.options or "")
    drain(app)
    assert task.submit("u", "x").state() == "queued"


def test_a_job_that_waits_for_its_limit_says_so(app: Engine) -> None:
    task = app.task(limit=("domain:{host}", 1))(visit)
    first, second = task.submit("1", "a"), task.submit("2", "a")

    async def taken() -> str:
        store = await app._inside.opened()
        [job] = await store.jobs.claim(["default"], 10, "w1")
        assert job.id == first.id
        return (await explain_job(store, second.id)).sentence

    assert "limit domain:a: 1 of 1 running" in app._inside.portal.call(taken())
