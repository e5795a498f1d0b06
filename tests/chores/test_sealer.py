"""The sealer: every event under exactly one seal, in feed order, whoever else is sealing or still writing."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from uuid_utils import uuid7

from holdfast.chores.runner import Chores
from holdfast.chores.sealer import Sealer
from holdfast.kernel.errors import StoreError
from holdfast.kernel.job import Spec
from holdfast.kernel.log import SPAN
from holdfast.kernel.proof.merkle import Accumulator
from holdfast.kernel.proof.seal import BATCH, NOTHING, header_leaf, unpack
from holdfast.store.open import open_store
from holdfast.store.port import SealRow, Store
from tests.audit.made import Made


async def submit(store: Store, count: int) -> None:
    await store.jobs.submit([Spec(str(uuid7()), "durable", "task") for _ in range(count)])


@pytest.fixture
async def store(database: str) -> AsyncIterator[Store]:
    opened = open_store(database)
    yield opened
    await opened.close()


async def assert_whole(store: Store) -> list[SealRow]:
    """Every event is listed by one seal, in order, and each seal follows from those before it."""
    seals = await store.reads.seals()
    listed = [entry for seal in seals for entry in unpack(seal.manifest or b"")]
    events = await store.reads.log(0, 1_000_000)
    assert [(e.pos, e.job_id, e.seq) for e in listed] == [(e.pos, e.job_id, e.seq) for e in events]
    headers = Accumulator()
    head = NOTHING
    for number, seal in enumerate(seals, 1):
        headers.append(header_leaf(seal))
        assert (seal.number, seal.previous, seal.head) == (number, head, headers.root())
        head = seal.head
    return seals


async def test_nothing_is_sealed_when_there_is_nothing(store: Store) -> None:
    assert await Sealer(store).run_once() is None
    assert await Sealer(store).seal_all() == []


@pytest.mark.slow
@pytest.mark.rule("C16")
async def test_the_log_is_sealed_in_batches_that_go_on_where_the_last_ended(store: Store) -> None:
    sealer = Sealer(store)
    await submit(store, BATCH + 10)
    first = await sealer.run_once(now_ms=123)
    assert first is not None
    assert (first.number, first.count, first.sealed_at_ms) == (1, BATCH, 123)
    assert [seal.count for seal in await sealer.seal_all()] == [10]
    await submit(store, 3)
    assert [seal.count for seal in await Sealer(store).seal_all()] == [3]
    await submit(store, 2)
    # The first sealer takes in what the other one sealed.
    assert [seal.number for seal in await sealer.seal_all()] == [4]
    await assert_whole(store)


async def test_sealing_up_to_now_ends_though_the_log_grows(store: Store) -> None:
    class Restless(Sealer):
        async def run_once(self, now_ms: int | None = None) -> SealRow | None:
            seal = await super().run_once(now_ms)
            await submit(store, 2)
            return seal

    await submit(store, 5)
    assert [seal.count for seal in await Restless(store).seal_all()] == [5]


async def test_sealers_that_race_seal_everything_once(database: str, store: Store) -> None:
    stores = [open_store(database) for _ in range(4)]
    sealers = [Sealer(one) for one in stores]
    try:
        for _ in range(5):
            await asyncio.gather(*(submit(store, 37) for _ in range(3)), *(s.seal_all() for s in sealers))
        made = await asyncio.gather(*(s.seal_all() for s in sealers))
    finally:
        for one in stores:
            await one.close()
    seals = await assert_whole(store)
    assert sum(seal.count for seal in seals) == 5 * 3 * 37
    assert sum(map(len, made)) <= len(seals)


async def test_a_sealer_whose_write_failed_leaves_nothing_out(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    sealer = Sealer(store)
    await submit(store, 5)
    await sealer.seal_all()
    await submit(store, 5)
    with monkeypatch.context() as patch:

        async def fail(seal: SealRow) -> bool:
            raise ConnectionError("cut")

        patch.setattr(store.upkeep, "add_seal", fail)
        with pytest.raises(ConnectionError):
            await sealer.run_once()
    await submit(store, 5)
    assert [seal.count for seal in await sealer.seal_all()] == [10]
    await assert_whole(store)


async def test_a_sealer_does_not_build_on_seals_that_were_changed(made: Made) -> None:
    made.sql("UPDATE holdfast_seal SET sealed_at_ms = sealed_at_ms + 1 WHERE number = 1")
    await made.lives.submit("more")
    with pytest.raises(StoreError, match="seal 3 does not follow"):
        await Sealer(made.store).run_once()


async def test_the_sealer_waits_for_a_position_that_may_still_be_filled(postgres_url: str) -> None:
    import asyncpg

    store = open_store(postgres_url)
    await store.migrate()
    sealer = Sealer(store)
    await submit(store, 3)
    late = await asyncpg.connect(postgres_url)
    transaction = late.transaction()
    await transaction.start()
    held = await late.fetchval(
        "INSERT INTO holdfast_log (pos, lifecycle, path, at_ms, actor, ids, prevs, attempts, versions)"
        """ VALUES (nextval('holdfast_log_pos'), 'durable', '[["job_cancelled","queued","cancelled",0]]', 1, 'late',"""
        " ARRAY[$1::uuid], ARRAY[1], ARRAY[1], ARRAY[2]) RETURNING pos",
        str(uuid7()),
    )
    await submit(store, 4)
    assert [(seal.last_pos, seal.count) for seal in await sealer.seal_all()] == [(held - SPAN, 3)]
    assert await sealer.run_once() is None
    assert await Sealer(store).run_once() is None
    await transaction.commit()
    await late.close()
    assert [(seal.first_pos, seal.count) for seal in await sealer.seal_all()] == [(held, 5)]
    await assert_whole(store)
    await store.close()


async def test_the_sealer_passes_a_position_that_was_given_up(postgres_url: str) -> None:
    import asyncpg

    store = open_store(postgres_url)
    await store.migrate()
    await submit(store, 3)
    late = await asyncpg.connect(postgres_url)
    await late.execute("SELECT nextval('holdfast_log_pos')")
    await late.close()
    await submit(store, 4)
    assert sum(seal.count for seal in await Sealer(store).seal_all()) == 7
    await assert_whole(store)
    await store.close()


@pytest.mark.slow
async def test_who_is_behind_catches_up_beside_workers_that_wait(store: Store) -> None:
    """Ten batches: at its usual pace a process would take ten seconds at least."""
    await submit(store, 10 * BATCH)
    idle = asyncio.create_task(store.wakeups.wait(store.wakeups.ticket(), 60))
    chores = Chores(store)
    chores.start()
    for _ in range(160):
        await asyncio.sleep(0.05)
        if len(await store.reads.seals()) == 10:
            break
    await chores.stop()
    idle.cancel()
    assert len(await assert_whole(store)) == 10
