"""The feed hands out every committed event once and in order, whatever commits late or never (I12)."""

import asyncio
import os
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from holdfast.catalog import BUILT_IN
from holdfast.kernel.event import Event
from holdfast.kernel.job import Spec
from holdfast.kernel.log import SPAN
from holdfast.store.dialect import NewJob
from holdfast.store.jobs.admission import Admission
from holdfast.store.port import Feed, Store
from holdfast.store.postgres.dialect import PostgresDialect
from holdfast.store.statements import numbered
from tests.load.conftest import migrated, postgres_site, sqlite_site
from tests.load.hands import success
from tests.load.sites import Site, specs
from tests.services.postgres import Server

EVENTS = 5_000_000 if os.environ.get("HOLDFAST_SOAK") else 100_000


@asynccontextmanager
async def postgres_store(server: Server) -> AsyncIterator[tuple[Store, str]]:
    site = await asyncio.to_thread(lambda: migrated(postgres_site(server)))
    store = site.open(connections=2)
    try:
        yield store, site.address
    finally:
        await store.close()


async def submit_on(connection: Any, made: Sequence[Spec]) -> None:
    """The store's own statement, in a transaction that the test holds open."""
    door = Admission(BUILT_IN)
    jobs: list[NewJob] = [door.admit(spec) for spec in made]
    query = next(PostgresDialect().create(jobs))
    statement = numbered("postgres", query.name)
    await connection.fetch(statement.text, *[query.params[name] for name in statement.names])  # type: ignore[union-attr]


async def connect(dsn: str) -> Any:
    connection = await asyncpg.connect(dsn)
    await connection.set_type_codec("uuid", schema="pg_catalog", encoder=str, decoder=str, format="text")
    return connection


async def polled(feed: Feed, times: int = 5) -> list[Event]:
    return [event for _ in range(times) for event in await feed.next()]


async def test_an_older_position_that_commits_late_is_waited_for(wide_postgres: Server) -> None:
    async with postgres_store(wide_postgres) as (store, dsn):
        late = await connect(dsn)
        transaction = late.transaction()
        await transaction.start()
        first, second = specs(2)
        await submit_on(late, [first])
        await store.jobs.submit([second])
        feed = store.log.feed()
        assert await polled(feed) == []
        await transaction.commit()
        assert [event.job_id for event in await polled(feed)] == [first.id, second.id]
        await late.close()


async def test_a_younger_transaction_with_an_older_position_is_waited_for(wide_postgres: Server) -> None:
    """The highest transaction that has ended says nothing about a younger one that is still under way."""
    async with postgres_store(wide_postgres) as (store, dsn):
        old, young = await connect(dsn), await connect(dsn)
        first, second = specs(2)
        old_transaction, young_transaction = old.transaction(), young.transaction()
        await old_transaction.start()
        await old.fetch("SELECT pg_current_xact_id()")
        await young_transaction.start()
        await submit_on(young, [first])
        await submit_on(old, [second])
        await old_transaction.commit()
        feed = store.log.feed()
        assert await polled(feed) == [], "a position that is still under way was passed"
        await young_transaction.commit()
        assert [event.job_id for event in await polled(feed)] == [first.id, second.id]
        for connection in (old, young):
            await connection.close()


async def test_positions_that_were_rolled_back_are_passed(wide_postgres: Server) -> None:
    async with postgres_store(wide_postgres) as (store, dsn):
        writer = await connect(dsn)
        gone, kept = specs(3), specs(2)
        transaction = writer.transaction()
        await transaction.start()
        await submit_on(writer, gone)
        await store.jobs.submit(kept)
        feed = store.log.feed()
        assert await polled(feed) == []
        await transaction.rollback()
        found = await polled(feed)
        assert [event.job_id for event in found] == [spec.id for spec in kept]
        assert feed.position == found[-1].pos == 5 * SPAN
        await writer.close()


async def test_a_long_transaction_elsewhere_does_not_hold_up_dense_positions(wide_postgres: Server) -> None:
    async with postgres_store(wide_postgres) as (store, dsn):
        idle = await connect(dsn)
        transaction = idle.transaction()
        await transaction.start()
        await idle.fetch("SELECT pg_current_xact_id()")
        await store.jobs.submit(specs(4))
        assert len(await store.log.feed().next()) == 4
        await transaction.rollback()
        await idle.close()


class Reader:
    """Follows the feed; a restart goes on from the position that it had."""

    def __init__(self, store: Store, chance: random.Random) -> None:
        self.seen: list[Event] = []
        self.restarts = 0
        self._store = store
        self._chance = chance
        self._done = asyncio.Event()

    async def follow(self) -> None:
        feed = self._store.log.feed()
        idle = 0
        while idle < 20:
            events = await feed.next(self._chance.choice((1, 10, 500, 2000)))
            self.seen += events
            idle = idle + 1 if self._done.is_set() and not events else 0
            if not events:
                await asyncio.sleep(0.002)
            if self._chance.random() < 0.1:
                feed = self._store.log.feed(feed.position)
                self.restarts += 1

    def finish(self) -> None:
        self._done.set()


def check(seen: Sequence[Event], committed: Sequence[Event]) -> None:
    assert [event.pos for event in seen] == sorted({event.pos for event in seen}), "out of order or twice"
    missed = {event.pos for event in committed} - {event.pos for event in seen}
    assert not missed, f"{len(missed)} events were passed over, the first at {min(missed)}"
    # The log is read without the ids that the feed adds from the job.
    assert [event[:15] for event in seen] == [event[:15] for event in committed]
    orders = defaultdict(list)
    for event in seen:
        orders[event.job_id].append(event.seq)
    assert all(order == list(range(1, len(order) + 1)) for order in orders.values())


async def all_events(store: Store) -> list[Event]:
    found: list[Event] = []
    while more := await store.reads.log(found[-1].pos if found else 0, 10_000):
        found += more
    return found


@pytest.mark.slow
async def test_100000_events_with_writers_that_hold_back(wide_postgres: Server) -> None:
    chance = random.Random(11)
    async with postgres_store(wide_postgres) as (store, dsn):
        reader = Reader(store, chance)
        left = EVENTS

        async def late_writer() -> None:
            """Takes positions, then commits late, or never."""
            nonlocal left
            connection = await connect(dsn)
            while left > 0:
                transaction = connection.transaction()
                await transaction.start()
                if chance.random() < 0.5:
                    await connection.fetch("SELECT pg_current_xact_id()")
                    await asyncio.sleep(chance.random() * 0.01)
                for _ in range(chance.randrange(1, 4)):
                    size = chance.randrange(1, 200)
                    await submit_on(connection, specs(size))
                    await asyncio.sleep(chance.random() * 0.01)
                    left -= size
                if chance.random() < 0.3:
                    await transaction.rollback()
                else:
                    await transaction.commit()
            await connection.close()

        async def engine() -> None:
            """The store's own ways of writing."""
            nonlocal left
            while left > 0:
                size = chance.randrange(1, 300)
                await store.jobs.submit(specs(size))
                jobs = await store.jobs.claim(["default"], size, "engine")
                left -= size + 2 * len(jobs)
                if jobs:
                    await store.jobs.apply(success(jobs, "engine"))
                    left -= len(jobs)

        following = asyncio.create_task(reader.follow())
        await asyncio.gather(engine(), *(late_writer() for _ in range(6)))
        reader.finish()
        await following
        committed = await all_events(store)
        assert len(committed) > EVENTS * 0.6
        assert committed[-1].pos > len(committed), "no position was held back for ever: the test is too tame"
        assert reader.restarts > 5
        check(reader.seen, committed)


@pytest.mark.slow
async def test_sqlite_with_two_writers(tmp_path: Path) -> None:
    site: Site = await asyncio.to_thread(lambda: migrated(sqlite_site(tmp_path)))
    chance = random.Random(12)
    one, two, reading = site.open(), site.open(), site.open()
    reader = Reader(reading, chance)
    left = EVENTS

    async def engine(store: Store, name: str) -> None:
        nonlocal left
        while left > 0:
            size = chance.randrange(1, 400)
            await store.jobs.submit(specs(size))
            jobs = await store.jobs.claim(["default"], size, name)
            if jobs:
                await store.jobs.apply(success(jobs, name))
            left -= size + 3 * len(jobs)

    following = asyncio.create_task(reader.follow())
    await asyncio.gather(engine(one, "one"), engine(two, "two"))
    reader.finish()
    await following
    committed = await all_events(reading)
    assert len(committed) >= EVENTS
    check(reader.seen, committed)
    for store in (one, two, reading):
        await store.close()
