"""The counting behind the metrics, and what a follower of the log makes of it."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

from holdfast import Engine
from holdfast.chores.reaper import Reaper
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import move
from holdfast.observe.metrics import BUCKETS_S, MOST_LABELS, NAMES, OTHER, Bounded, Counts, Histogram
from holdfast.store.port import Store
from holdfast.systems.crawl.lifecycle import CRAWL
from holdfast.testing import MovableClock
from holdfast.views.metrics_feed import MetricsFeed
from tests.engines import STORES, address, engine_on
from tests.observe.exposition import open_problems, problems, values
from tests.tables import driver_of
from tests.working import until, working


class Told(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def text_of(families: Any) -> str:
    told = Told(list(families))
    text = generate_latest(told).decode()
    assert problems(text) == []
    assert open_problems(generate_openmetrics(told).decode()) == []
    return text


def test_quantiles_are_those_of_prometheus() -> None:
    empty = Histogram()
    assert empty.quantile(0.5) is None
    # 10 within (0, 1], 10 within (1, 2], 20 within (5, 10]: half of them end at 2, 95 % at 9.5.
    kept = Histogram()
    for seconds, times in ((0.5, 10), (1.5, 10), (7.0, 20)):
        for _ in range(times):
            kept.observe(seconds)
    assert kept.quantile(0.5) == pytest.approx(2.0)
    assert kept.quantile(0.95) == pytest.approx(5 + 5 * (38 - 20) / 20)
    kept.observe(10_000)
    assert kept.quantile(1.0) == BUCKETS_S[-1], "no further than the last bound"


def test_a_bound_belongs_to_its_bucket() -> None:
    kept = Histogram()
    for bound in BUCKETS_S:
        kept.observe(bound)
    assert kept.buckets == [1] * len(BUCKETS_S) + [0]


def test_labels_are_bounded() -> None:
    bounded = Bounded()
    names = {bounded(f"task-{n}") for n in range(10 * MOST_LABELS)}
    assert len(names) == MOST_LABELS + 1
    assert OTHER in names
    assert bounded("task-0") == "task-0"
    assert bounded(f"task-{MOST_LABELS}") == OTHER


def test_an_empty_page_is_clean_and_names_everything() -> None:
    text = text_of(Counts().families({}))
    counted = {name for name, said in NAMES.items() if said.kind != "gauge"}
    assert all(f"# TYPE {name} " in text for name in counted)
    assert values(text)["claims_total",] == 0


def test_labels_with_odd_letters_are_clean() -> None:
    tally = Counts()
    tally.duration('a"b\\c\nd', 3)
    tally.count("job_failures_total", 'x"y\\z\n')
    assert values(text_of(tally.families({})))["job_failures_total", 'x"y\\z\n'] == 1


Story = Callable[[Store, MovableClock], Awaitable[None]]


@pytest.fixture(params=STORES)
def clocked(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    clock = MovableClock()
    with engine_on(address(request, tmp_path), clock) as engine:
        yield engine, clock


def told(engine: Engine, before: Story, after: Story, clock: MovableClock) -> tuple[dict[tuple[str, ...], float], str]:
    """What is shown after `after`, by who began to count behind `before`."""

    async def tell() -> str:
        store = await engine._inside.opened()
        await before(store, clock)
        feed = MetricsFeed(store)
        await feed.begin()
        await after(store, clock)
        return text_of(await feed.scrape())

    text = engine._inside.portal.call(tell())
    return values(text), text


def declare(engine: Engine) -> None:
    def work() -> None: ...
    def poison() -> None: ...

    engine.task(retries=3)(work)
    engine.task(lifecycle="crawl", name="fetch")(poison)
    engine.task(name="poison")(poison)


async def submit(engine: Engine, *tasks: str) -> list[str]:
    from holdfast.runtime.task import Task

    specs = [Task(engine._inside, engine._inside.registry.get(task)).spec_of("{}") for task in tasks]
    return await engine._inside.asubmit_specs(specs)


async def end(store: Store, job_id: str, command: str, **said: Any) -> None:
    job = await store.reads.get(job_id)
    assert job is not None
    [change] = move(store.tables[job.lifecycle], [job], command, actor="w1", owner="w1", **said)
    applied = await store.jobs.apply([change])
    assert applied.refused == []


def test_everything_that_jobs_go_through_is_counted(clocked: Any) -> None:
    engine, clock = clocked
    declare(engine)

    async def before(store: Store, clock: MovableClock) -> None:
        await submit(engine, "work")
        await store.jobs.claim(["default"], 10, "w1")
        clock.advance("4s")

    async def after(store: Store, clock: MovableClock) -> None:
        [running] = [job.id for job in await store.reads.get_many([*(await _all(store))])]
        await end(store, running, Command.SUCCEED)  # began before the count, ended 4 s later
        ids = await submit(engine, "work", "fetch", "poison")
        # Twice: a lane that is new may be noticed by the second look only.
        claimed = [job for _ in range(2) for job in await store.jobs.claim(["default"], 10, "w1")]
        assert len(claimed) == 3
        clock.advance("1500ms")
        await end(store, ids[0], Command.RETRY)
        await end(store, ids[1], Command.FAIL, reason="E_HTTP")
        clock.advance("2m")
        assert await Reaper(store).run_once() == 1  # poison: its lease is over
        again = await store.jobs.claim(["default"], 10, "w1")
        assert {job.id for job in again} == {ids[0], ids[2]}
        await end(store, ids[0], Command.CANCEL)

    shown, _ = told(engine, before, after, clock)
    assert {name: shown[name,] for name in NAMES if (name,) in shown and name.endswith("_total")} == {
        "jobs_submitted_total": 3,
        "failures_total": 2,
        "retries_total": 1,
        "retry_attempts_total": 2,
        "claims_total": 5,
        "claim_conflicts_total": 0,
        "lease_renewals_total": 0,
        "lease_expiries_total": 1,
        "dead_lettered_total": 0,
    }
    assert shown["job_failures_total", "E_HTTP"] == 1
    assert shown["jobs_finished_total", "succeeded", "work"] == 1
    assert shown["jobs_finished_total", "cancelled", "work"] == 1
    assert shown["jobs_finished_total", "failed", "fetch"] == 1
    assert shown["jobs_inflight", "poison"] == 1
    assert shown["jobs_inflight", "work"] == 0
    assert shown["job_duration_seconds_count", "work"] == 2
    assert shown["job_duration_seconds_sum", "work"] == pytest.approx(4.0)
    assert shown["job_duration_seconds_bucket", "1.0", "fetch"] == 0
    assert shown["job_duration_seconds_bucket", "2.0", "fetch"] == 1
    assert 1 < shown["job_duration_p50_seconds", "fetch"] < shown["job_duration_p95_seconds", "fetch"] < 2
    assert (shown["database_up",], shown["dead_letters",], shown["workers_alive",]) == (1, 0, 0)


async def _all(store: Store) -> list[str]:
    return [job.id async for batch in store.reads.all_jobs() for job in batch]


def test_queues_are_read_when_asked(clocked: Any) -> None:
    engine, clock = clocked
    declare(engine)

    async def before(store: Store, clock: MovableClock) -> None:
        await submit(engine, "work", "work")

    async def after(store: Store, clock: MovableClock) -> None:
        clock.advance("30s")
        from holdfast.runtime.task import Task

        later: Task[..., None] = Task(engine._inside, engine._inside.registry.get("work")).options(delay="1h")
        await engine._inside.asubmit_specs([later.spec_of("{}")])

    shown, _ = told(engine, before, after, clock)
    assert shown["queue_depth", "default"] == 3
    assert shown["queue_due", "default"] == 2
    assert shown["queue_oldest_due_age_seconds", "default"] == pytest.approx(30, abs=0.1)


def test_a_lifecycle_of_ones_own_is_counted_by_its_rows(clocked: Any) -> None:
    """Which event is a retry is for the table to say, whatever it is called."""
    from dataclasses import replace

    engine, clock = clocked
    rows = tuple(replace(row, event=f"own_{row.command}_{row.source}") for row in CRAWL.transitions)
    own = replace(CRAWL, name="own", transitions=rows)

    def work() -> None: ...

    engine.task(lifecycle=own)(work)

    async def nothing(store: Store, clock: MovableClock) -> None: ...

    async def after(store: Store, clock: MovableClock) -> None:
        [job_id] = await submit(engine, "work")
        await store.jobs.claim(["default"], 1, "w1")
        await end(store, job_id, Command.RETRY)

    shown, _ = told(engine, nothing, after, clock)
    assert (shown["retries_total",], shown["claims_total",], shown["failures_total",]) == (1, 1, 1)


def test_what_workers_count_adds_up_and_never_falls(clocked: Any) -> None:
    engine, _ = clocked

    async def tell() -> list[float]:
        store = await engine._inside.opened()
        feed = MetricsFeed(store)
        await _worker(store, "old", renewed=100)
        await feed.begin()
        found = []
        for owner, renewed in (("old", 103), ("new", 5), ("new", 9)):
            await _worker(store, owner, renewed=renewed)
            found.append(values(text_of(await feed.scrape()))["lease_renewals_total",])
        await driver_of(store).write(_gone())
        found.append(values(text_of(await feed.scrape()))["lease_renewals_total",])
        return found

    assert engine._inside.portal.call(tell()) == [3, 8, 12, 12]


async def _worker(store: Store, owner: str, **stats: int) -> None:
    from holdfast.worker.presence import Presence

    await Presence(store, owner, {"default": 1}, 1).seen(stats)


def _gone() -> Any:
    from holdfast.store.script import Query

    yield Query("worker_gone", {"owner": "new", "before_ms": 0})


def test_a_scrape_without_the_database_says_so(tmp_path: Any) -> None:
    with engine_on(f"sqlite:///{tmp_path}/jobs.db") as engine:

        async def tell() -> str:
            store = await engine._inside.opened()
            feed = MetricsFeed(store)
            await feed.begin()
            await store.close()
            return text_of(await feed.scrape())

        shown = values(engine._inside.portal.call(tell()))
    assert shown["database_up",] == 0
    assert shown["claims_total",] == 0
    assert ("dead_letters",) not in shown


@pytest.mark.slow
def test_following_between_scrapes(app: Engine) -> None:
    """Real workers, real failures: counted while nobody asks, conflicts included."""

    async def begin() -> MetricsFeed:
        feed = MetricsFeed(await app._inside.opened())
        await feed.start()
        return feed

    feed = app._inside.portal.call(begin())
    with working(app) as worker:
        jobs = [app.submit("call", {"url": ""}) for _ in range(5)] + [app.submit("fail", {"code": "no_luck"})]
        for job in jobs:
            job.wait(30)

        until(lambda: feed.tally.counters["jobs_finished_total"]["call", "succeeded"] == 5)

        async def counted() -> dict[tuple[str, ...], float]:
            worker.lost += 2
            await worker._presence.seen(worker.stats())
            return values(text_of(await feed.scrape()))

        shown = app._inside.portal.call(counted())
        app._inside.portal.call(feed.stop())
    assert shown["claims_total",] == 7
    assert shown["retry_attempts_total",] == shown["retries_total",] == 1
    assert shown["job_failures_total", "no_luck"] == 1
    assert shown["claim_conflicts_total",] == 2
    assert shown["workers_alive",] == 1
    assert worker.stats()["claimed"] == 7
