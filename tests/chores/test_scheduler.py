"""Schedules: one job per tick whatever happens, in any time zone, on both stores."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio

from holdfast import Context, Engine, HoldfastError
from holdfast.chores.scheduler import Schedule, Scheduler
from holdfast.kernel.errors import NotFoundError
from holdfast.kernel.job import Job, Spec
from holdfast.store.port import Filter, Store
from holdfast.store.postgres.driver import open_postgres
from holdfast.store.sqlite.driver import open_sqlite
from holdfast.tasks.cron import Cron
from holdfast.testing import MovableClock, assert_submitted, drain

BERLIN = "Europe/Berlin"
HOURLY = "0 * * * *"
TEMPLATE = Spec(id="", lifecycle="durable", task="report", payload='{"day":1}', queue="nights", priority=3)
Opener = Callable[[], Awaitable[Store]]


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest_asyncio.fixture(params=["sqlite", "postgres"])
async def opener(request: pytest.FixtureRequest, tmp_path: Path, clock: MovableClock) -> AsyncIterator[Opener]:
    """Opens one more store on the test's database, as another process would."""
    dsn = None if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    stores: list[Store] = []

    async def open_one() -> Store:
        if dsn is None:
            store = open_sqlite(tmp_path / "jobs.db", clock=clock, synchronous="OFF")
        else:
            store = open_postgres(dsn, clock=clock, connections=1)
        await store.migrate()
        stores.append(store)
        return store

    yield open_one
    for store in stores:
        await store.close()


@pytest_asyncio.fixture
async def store(opener: Opener) -> Store:
    return await opener()


async def jobs_of(store: Store) -> list[Job]:
    return (await store.reads.list(Filter(), limit=500)).items


def ticks_of(jobs: list[Job]) -> list[str]:
    """When the jobs' ticks were, as hours and minutes, in order."""
    keys = sorted(int(str(job.key).rpartition(":")[2]) for job in jobs)
    return [datetime.fromtimestamp(key / 1_000, UTC).strftime("%d %H:%M") for key in keys]


def local(cron: str, start: str, count: int, zone: str = BERLIN) -> list[str]:
    """The next ticks behind a local time, with their offsets."""
    after_ms = round(datetime.fromisoformat(start).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1_000)
    ticks = Cron(cron, zone).between(after_ms, after_ms + 10**11, count)
    return [datetime.fromtimestamp(tick / 1_000, ZoneInfo(zone)).strftime("%d %H:%M%z") for tick in ticks]


def test_a_time_that_does_not_exist_ticks_at_the_first_that_does() -> None:
    assert local("30 2 * * *", "2026-03-28T12:00", 2) == ["29 03:00+0200", "30 02:30+0200"]


def test_a_time_that_comes_twice_ticks_once() -> None:
    assert local("30 2 * * *", "2026-10-24T12:00", 2) == ["25 02:30+0200", "26 02:30+0100"]
    # Asked between the two, the second is none of its ticks either.
    after_ms = round(datetime(2026, 10, 25, 1, 10, tzinfo=UTC).timestamp() * 1_000)
    assert (
        Cron("30 2 * * *", BERLIN).next(after_ms)
        == round(datetime(2026, 10, 26, 1, 30, tzinfo=UTC).timestamp()) * 1_000
    )


def test_every_half_hour_follows_real_time_when_the_clocks_change() -> None:
    assert local("*/30 * * * *", "2026-03-29T01:15", 3) == ["29 01:30+0100", "29 03:00+0200", "29 03:30+0200"]
    autumn = local("*/30 * * * *", "2026-10-25T01:45", 5)
    assert autumn == ["25 02:00+0200", "25 02:30+0200", "25 02:00+0100", "25 02:30+0100", "25 03:00+0100"]


def test_ticks_only_ever_move_forward_through_a_year_of_two_changes() -> None:
    for cron in ("30 2 * * *", "0 2,3 * * *", "*/20 1-3 * * *", "0 */2 * * *"):
        ticks = Cron(cron, BERLIN).between(1_767_225_600_000, 1_767_225_600_000 + 366 * 86_400_000, 20_000)
        assert ticks == sorted(set(ticks))
        assert all(Cron(cron, BERLIN).next(tick - 1) == tick for tick in ticks[::97])


def test_the_last_tick_is_found_without_walking_through_all() -> None:
    cron = Cron("* * * * *")
    start, end = 1_767_225_600_000, 1_767_225_600_000 + 3_000 * 86_400_000
    assert cron.last(start, end + 30_000) == end
    assert Cron("0 0 29 2 *").last(start, end) == 1_961_625_600_000
    assert cron.last(start, start + 10) is None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"cron": "61 * * * *"}, "cron"),
        ({"cron": "daily"}, "cron"),
        ({"timezone": "Europe/Atlantis"}, "timezone"),
        ({"timezone": "../../etc/passwd"}, "timezone"),
        ({"missed": "some"}, "missed"),
        ({"name": ""}, "name"),
    ],
)
def test_a_bad_schedule_is_refused_when_it_is_declared(change: dict[str, str], field: str) -> None:
    given: dict[str, Any] = {"name": "s", "template": TEMPLATE, "cron": HOURLY, **change}
    with pytest.raises(HoldfastError) as caught:
        Schedule(**given)
    assert caught.value.field == field
    assert caught.value.remedy


async def test_a_tick_submits_the_declared_job(store: Store, clock: MovableClock) -> None:
    scheduler = Scheduler(store)
    await scheduler.declare([Schedule("nightly", TEMPLATE, "0 3 * * *", BERLIN)])
    assert await scheduler.run_once() == 0
    clock.advance("2h")
    assert await scheduler.run_once() == 1
    assert await scheduler.run_once() == 0
    [job] = await jobs_of(store)
    tick_ms = 1_767_232_800_000
    assert (job.task, job.queue, job.priority, job.lifecycle) == ("report", "nights", 3, "durable")
    assert json.loads(job.payload or "") == {"day": 1}
    assert (job.key, job.correlation_id) == (f"schedule:nightly:{tick_ms}", f"schedule:nightly:{tick_ms}")
    [event] = await store.reads.events(job.id)
    assert (event.actor, event.reason, event.cause) == ("scheduler", "scheduled", "schedule:nightly")
    row = await scheduler.get("nightly")
    assert (row.last_tick_ms, row.next_tick_ms) == (tick_ms, tick_ms + 86_400_000)


@pytest.mark.parametrize(
    ("missed", "late", "on_time"),
    [
        ("skip", [], ["01 06:00"]),
        ("one", ["01 05:00"], ["01 06:00"]),
        ("all", ["01 01:00", "01 02:00", "01 03:00", "01 04:00", "01 05:00"], ["01 06:00"]),
    ],
)
async def test_what_becomes_of_missed_ticks(
    store: Store, clock: MovableClock, missed: str, late: list[str], on_time: list[str]
) -> None:
    scheduler = Scheduler(store)
    await scheduler.declare([Schedule("s", TEMPLATE, HOURLY, missed=missed)])
    clock.advance("5h10m")
    assert await scheduler.run_once() == len(late)
    assert ticks_of(await jobs_of(store)) == late
    clock.advance("50m20s")
    assert await scheduler.run_once() == 1
    assert ticks_of(await jobs_of(store)) == late + on_time


async def test_a_long_absence_is_made_up_page_by_page(store: Store, clock: MovableClock) -> None:
    scheduler = Scheduler(store)
    await scheduler.declare([Schedule("s", TEMPLATE, "* * * * *", missed="all")])
    clock.advance("1d")
    assert await scheduler.run_once() == 24 * 60
    assert await scheduler.run_once() == 0


async def test_many_schedulers_make_one_job_per_tick(opener: Opener, clock: MovableClock) -> None:
    schedulers = [Scheduler(await opener()) for _ in range(4)]
    await schedulers[0].declare([Schedule(f"s{n}", TEMPLATE, "*/10 * * * *", missed="all") for n in range(5)])
    for _ in range(4):
        clock.advance("20m")
        await asyncio.gather(*(scheduler.run_once() for scheduler in schedulers for _ in range(2)))
    keys = Counter(job.key for job in await jobs_of(await opener()))
    assert len(keys) == 5 * 8
    assert set(keys.values()) == {1}


async def test_a_scheduler_that_dies_in_between_neither_loses_nor_doubles_a_tick(
    opener: Opener, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying, heir = await opener(), await opener()
    await Scheduler(dying).declare([Schedule("s", TEMPLATE, HOURLY)])
    clock.advance("1h")

    def cut(*_: Any) -> Any:
        raise ConnectionError("gone between the two writes")

    with monkeypatch.context() as patch:
        patch.setattr("holdfast.store.admin.schedules.submit", cut)
        with pytest.raises(OSError):  # noqa: PT011 - each driver says it in its own words
            await Scheduler(dying).run_once()
    # The schedule had moved on already, in a transaction that never was.
    assert await jobs_of(heir) == []
    assert await Scheduler(heir).run_once() == 1
    assert await Scheduler(dying).run_once() == 0


async def test_a_tick_taken_twice_is_one_job(store: Store, clock: MovableClock) -> None:
    scheduler = Scheduler(store)
    await scheduler.declare([Schedule("s", TEMPLATE, HOURLY)])
    clock.advance("1h")
    before = await scheduler.get("s")
    assert await scheduler.run_once() == 1
    # As if the row had been restored from a copy: the key still knows the tick.
    await store.admin.schedules.resume("s", before.last_tick_ms, before.next_tick_ms)
    assert await scheduler.run_once() == 0
    assert len(await jobs_of(store)) == 1


async def test_paused_schedules_wait_and_make_nothing_up(store: Store, clock: MovableClock) -> None:
    scheduler = Scheduler(store)
    await scheduler.declare([Schedule("s", TEMPLATE, HOURLY, missed="all")])
    await scheduler.pause("s")
    clock.advance("5h30m")
    assert await scheduler.run_once() == 0
    await scheduler.declare([Schedule("s", TEMPLATE, HOURLY, missed="all")])
    assert (await scheduler.get("s")).paused
    await scheduler.resume("s")
    assert await scheduler.run_once() == 0
    clock.advance("30m")
    assert await scheduler.run_once() == 1
    assert ticks_of(await jobs_of(store)) == ["01 06:00"]


async def test_declared_again_it_goes_on_where_it_stands(store: Store, clock: MovableClock) -> None:
    scheduler = Scheduler(store)
    await scheduler.declare([Schedule("s", TEMPLATE, HOURLY)])
    clock.advance("59m")
    await scheduler.declare([Schedule("s", TEMPLATE._replace(payload='{"day":2}'), HOURLY)])
    clock.advance("2m")
    assert await scheduler.run_once() == 1
    assert [job.payload for job in await jobs_of(store)] == ['{"day":2}']
    # Other times count from now: what would have been a tick before is none.
    await scheduler.declare([Schedule("s", TEMPLATE, "*/30 * * * *", missed="all")])
    assert await scheduler.run_once() == 0
    assert (await scheduler.get("s")).next_tick_ms == 1_767_225_600_000 + 90 * 60_000


async def test_one_broken_schedule_does_not_hold_up_the_others(store: Store, clock: MovableClock) -> None:
    scheduler = Scheduler(store)
    await scheduler.declare([Schedule("good", TEMPLATE, HOURLY)])
    broken = Schedule("bad", TEMPLATE, HOURLY).row(clock())
    await store.admin.schedules.keep(broken._replace(timezone="Europe/Atlantis"))
    await store.admin.schedules.keep(broken._replace(name="other", spec='{"lifecycle":"of_another_process"}'))
    clock.advance("1h")
    assert await scheduler.run_once() == 1
    assert (await scheduler.get("other")).next_tick_ms == broken.next_tick_ms


async def test_run_now_and_remove(store: Store) -> None:
    scheduler = Scheduler(store)
    await scheduler.declare([Schedule("s", TEMPLATE, HOURLY)])
    first, second = await scheduler.submit_now("s"), await scheduler.submit_now("s")
    assert first != second
    assert {job.key for job in await jobs_of(store)} == {None}
    await scheduler.remove("s")
    assert await scheduler.list() == []
    for command in (scheduler.remove, scheduler.pause, scheduler.resume, scheduler.submit_now):
        with pytest.raises(NotFoundError):
            await command("s")


def test_a_tick_starts_a_trace_that_reaches_the_handler(holdfast_engine: Engine, holdfast_clock: MovableClock) -> None:
    seen: list[tuple[str, str | None]] = []

    @holdfast_engine.task
    def report(ctx: Context, day: int) -> None:
        seen.append((ctx.correlation_id, ctx.trace_id))

    holdfast_engine.schedule("nightly", report, cron="0 3 * * *", timezone=BERLIN, args={"day": 1})
    drain(holdfast_engine, move_clock="3h")
    [job] = assert_submitted(holdfast_engine, report, args={"day": 1})
    assert seen == [(job.correlation_id, job.trace_id)]
    assert job.trace_id
    assert len(job.trace_id) == 32
    assert str(job.correlation_id).startswith("schedule:nightly:")
    [handle] = [holdfast_engine.get_job(job.id)]
    assert handle.state == "succeeded"


def test_schedule_checks_the_arguments_of_its_task(holdfast_engine: Engine) -> None:
    @holdfast_engine.task
    def report(day: int) -> None: ...

    with pytest.raises(TypeError, match="day"):
        holdfast_engine.schedule("s", report, cron=HOURLY, args={"day": "first"})
    with pytest.raises(NotFoundError):
        holdfast_engine.schedule("s", "unknown", cron=HOURLY)
    holdfast_engine.schedule("s", "report", cron=HOURLY, args={"day": 1}, missed="skip")
    assert holdfast_engine.list_jobs() == []
    # Declared once the database is open, it is kept at once.
    holdfast_engine.schedule("later", report, cron=HOURLY, args={"day": 2})
    rows = holdfast_engine._inside.portal.call(_rows(holdfast_engine))
    assert [(row.name, row.missed) for row in rows] == [("later", "one"), ("s", "skip")]


async def _rows(engine: Engine) -> Any:
    return await Scheduler(await engine._inside.opened()).list()
