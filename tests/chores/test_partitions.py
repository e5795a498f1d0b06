"""The log's weekly partitions: made ahead, tolerant of rows and rivals, dropped when they are empty."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from holdfast.chores.pruner import Pruner
from holdfast.chores.sealer import Sealer
from holdfast.store.open import open_store
from holdfast.store.port import Store
from holdfast.store.upkeep.partitions import WEEK_MS, week_of
from tests.audit.lives import START_MS, Clock, Lives

WEEKS = ["holdfast_event_2026w45", "holdfast_event_2026w46", "holdfast_event_2026w47"]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(postgres_url: str, clock: Clock) -> AsyncIterator[Store]:
    opened = open_store(postgres_url, clock=clock)
    await opened.migrate()
    yield opened
    await opened.close()


def partition_of(dsn: str) -> dict[str, Any]:
    import psycopg

    with psycopg.connect(dsn) as connection:
        rows = connection.execute("SELECT job_id::text, tableoid::regclass::text FROM holdfast_event")
        return dict(rows.fetchall())


@pytest.mark.parametrize(
    ("at_ms", "name", "low_ms"),
    [
        (START_MS, "holdfast_event_2026w45", 1_793_577_600_000),
        (0, "holdfast_event_1970w01", -3 * 86_400_000),
        (1_609_459_200_000, "holdfast_event_2020w53", 1_609_113_600_000),
    ],
)
def test_a_week_begins_on_monday(at_ms: int, name: str, low_ms: int) -> None:
    assert week_of(at_ms) == (name, low_ms)
    assert week_of(low_ms + WEEK_MS - 1) == (name, low_ms)
    assert week_of(low_ms + WEEK_MS)[1] == low_ms + WEEK_MS


async def test_events_go_to_their_week(store: Store, clock: Clock, postgres_url: str) -> None:
    assert await store.upkeep.ensure_partitions(clock.now_ms, weeks=2) == WEEKS
    assert await store.upkeep.ensure_partitions(clock.now_ms, weeks=2) == []
    lives = Lives(store, clock)
    first = await lives.submit("first")
    clock.pass_ms(WEEK_MS)
    second = await lives.submit("second")
    clock.pass_ms(9 * WEEK_MS)
    third = await lives.submit("third")
    assert partition_of(postgres_url) == {first: WEEKS[0], second: WEEKS[1], third: "holdfast_event_default"}
    # A week whose rows lie in the default partition goes on without one of its own.
    made = await store.upkeep.ensure_partitions(clock.now_ms, weeks=1)
    assert made == ["holdfast_event_2027w03"]
    await Sealer(store).seal_all()


async def test_rivals_make_each_partition_once(store: Store, postgres_url: str) -> None:
    others = [open_store(postgres_url) for _ in range(3)]
    made = await asyncio.gather(*(one.upkeep.ensure_partitions(START_MS, weeks=2) for one in (store, *others)))
    for one in others:
        await one.close()
    names = [name for some in made for name in some]
    assert sorted(names) == sorted(set(names))
    assert await store.upkeep.ensure_partitions(START_MS, weeks=2) == [name for name in WEEKS if name not in names]


@pytest.mark.slow
async def test_a_busy_log_is_not_waited_for(store: Store, postgres_url: str) -> None:
    import asyncpg

    reader = await asyncpg.connect(postgres_url)
    async with reader.transaction():
        await reader.execute("LOCK TABLE holdfast_event_default IN ACCESS SHARE MODE")
        assert await store.upkeep.ensure_partitions(START_MS, weeks=0) == []
    await reader.close()
    assert await store.upkeep.ensure_partitions(START_MS, weeks=0) == WEEKS[:1]


async def test_only_an_empty_partition_of_the_past_is_dropped(store: Store, clock: Clock) -> None:
    await store.upkeep.ensure_partitions(clock.now_ms, weeks=2)
    lives = Lives(store, clock)
    await lives.submit("short", keep_until_ms=1)
    await lives.do("short", "cancel")
    await lives.submit("long")
    clock.pass_ms(WEEK_MS)
    await lives.submit("next", keep_until_ms=1)
    await lives.do("next", "cancel")
    await lives.do("long", "cancel")
    await Sealer(store).seal_all()
    clock.pass_ms(WEEK_MS)
    pruner = Pruner(store)
    assert (await pruner.run_once()).jobs == 2
    assert await store.upkeep.drop_partitions() == []
    await store.upkeep.prune(list(lives.ids.values()))
    assert await store.upkeep.drop_partitions() == WEEKS[:2]


async def test_sqlite_has_none(tmp_path: Any) -> None:
    store = open_store(str(tmp_path / "a.db"))
    await store.migrate()
    assert await store.upkeep.ensure_partitions(START_MS) == []
    assert await store.upkeep.drop_partitions(START_MS) == []
    await store.close()
