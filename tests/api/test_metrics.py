"""/metrics: what a scrape of a server shows, as Prometheus text and as OpenMetrics."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from holdfast import Context, Engine
from holdfast.api.app import create_app
from holdfast.api.running import Service, WorkerSettings
from holdfast.api.settings import ApiSettings
from holdfast.observe.metrics import NAMES
from holdfast.store.port import Lease
from tests.engines import STORES, address
from tests.observe import jobs
from tests.observe.exposition import open_problems, problems, values
from tests.working import until

OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@pytest.fixture(params=STORES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    engine = jobs.app_on(address(request, tmp_path))
    yield engine
    engine.close()


def scrape(engine: Engine, accept: str = "text/plain") -> httpx.Response:
    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(app=create_app(engine._inside))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:54322") as client:
            return await client.get("/metrics", headers={"Accept": accept})

    return engine._inside.portal.call(get())


def test_a_page_of_every_metric(engine: Engine) -> None:
    engine.submit("call", {"url": ""})
    answer = scrape(engine)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert problems(answer.text) == []
    told = {line.split(" ")[2] for line in answer.text.splitlines() if line.startswith("# TYPE")}
    assert NAMES.keys() <= told
    assert values(answer.text)["queue_depth", "default"] == 1
    assert "process_resident_memory_bytes" in told


def test_the_same_as_openmetrics(engine: Engine) -> None:
    answer = scrape(engine, OPEN)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert open_problems(answer.text) == []


def page(url: str) -> str:
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:  # noqa: S310 # our own server
        text: str = answer.read().decode()
    assert problems(text) == []
    return text


@pytest.mark.rule("C20")
def test_a_server_counts_from_its_start(engine: Engine) -> None:
    """On a real server with a worker: jobs that succeed, fail, are retried and are dead-lettered."""
    service = Service(engine._inside, ApiSettings(port=0), WorkerSettings(queues="default", concurrency=4))
    url = engine._inside.portal.call(service.start())
    try:
        made = [engine.submit("call", {"url": ""}) for _ in range(3)] + [engine.submit("fail", {"code": "no_luck"})]
        for job in made:
            job.wait(30)
        text = page(url)
        dead = engine.submit("buried", {})
        dead.wait(30)
        later = page(url)
    finally:
        engine._inside.portal.call(service.stop())
    shown, then = values(text), values(later)
    assert shown["jobs_inflight", "call"] == 0
    assert shown["job_duration_seconds_count", "call"] == 3
    bounds = [1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0]
    assert [shown["job_duration_seconds_bucket", str(bound), "call"] for bound in bounds] == [3] * 8
    assert 0 < shown["job_duration_p50_seconds", "call"] <= shown["job_duration_p95_seconds", "call"] <= 1
    assert shown["job_failures_total", "no_luck"] == 1
    assert shown["retry_attempts_total",] == shown["retries_total",] == 1
    assert (shown["claims_total",], shown["failures_total",]) == (5, 2)
    assert shown["claim_conflicts_total",] == shown["lease_renewals_total",] == shown["lease_expiries_total",] == 0
    assert (shown["dead_letters",], then["dead_letters",], then["dead_lettered_total",]) == (0, 1, 1)
    assert then["claims_total",] == 6


@pytest.mark.slow
@pytest.mark.rule("D23")
def test_leases_retries_and_failures_each_have_their_count(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that outlives its first lease, one that loses it on the way, one that fails, one that nobody can do."""
    monkeypatch.setattr("holdfast.worker.presence.SEEN_EVERY_S", 0.2)  # how often a worker says what it counts

    @engine.task(lease="1s")
    async def long() -> None:
        await asyncio.sleep(1.5)

    @engine.task(lease="10s")
    async def robbed(ctx: Context) -> int:
        store = await engine._inside.opened()
        if ctx.attempt == 1:
            job = await store.reads.get(ctx.job_id)
            assert job is not None
            assert job.lease_owner is not None
            await store.jobs.let_go(job.lease_owner, [Lease(job.id, job.attempt)])
            await asyncio.sleep(20)  # until it is noticed, and this run is ended
        return ctx.attempt

    service = Service(engine._inside, ApiSettings(port=0), WorkerSettings(queues="default", concurrency=4))
    url = engine._inside.portal.call(service.start())
    try:
        before = values(page(url))
        failing, buried = engine.submit("fail", {"code": "no_luck"}), engine.submit("buried", {})
        lasting, taken = long.submit(), robbed.submit()
        for job in (failing, buried, lasting, taken):
            job.wait(30)
        assert taken.result() == 2

        def told() -> dict[tuple[str, ...], float]:
            shown = values(page(url))
            return shown if shown["lease_renewals_total",] and shown["claim_conflicts_total",] else {}

        shown = until(told)
    finally:
        engine._inside.portal.call(service.stop())
    counted = {name: shown[name,] - before[name,] for name in NAMES if (name,) in shown and name.endswith("_total")}
    assert counted.pop("lease_renewals_total") >= 1
    assert counted == {
        "jobs_submitted_total": 4,
        "claims_total": 6,
        "claim_conflicts_total": 1,
        "lease_expiries_total": 1,
        "retries_total": 1,
        "retry_attempts_total": 2,
        "failures_total": 3,
        "dead_lettered_total": 1,
    }
    assert (before["dead_letters",], shown["dead_letters",]) == (0, 1)
    for quantile in ("p50", "p95"):
        assert 1 < shown[f"job_duration_{quantile}_seconds", "long"] <= 2
