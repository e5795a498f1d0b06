"""Connections are cut, backends die, servers restart: what was answered holds, a repeat changes nothing."""

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar
from urllib.parse import urlsplit

import asyncpg
import pytest

from holdfast.kernel.durable import DURABLE
from holdfast.kernel.errors import StoreLostError
from holdfast.kernel.move import move
from holdfast.store.port import Store
from tests.load.conftest import migrated, postgres_site
from tests.load.hands import success
from tests.load.proof import prove
from tests.load.sites import Site, new_id, specs
from tests.services.postgres import Server, running_postgres
from tests.services.proxy import Cut, Proxy, running_proxy

T = TypeVar("T")
SOAK = bool(os.environ.get("HOLDFAST_SOAK"))
CUTS = 10_000 if SOAK else 500
RESTARTS = 300 if SOAK else 20
AWAY = (OSError, asyncpg.CannotConnectNowError)
"""What a caller must be ready for: a lost connection is a ConnectionError, and a server may not be up yet."""


async def made(server: Server) -> Site:
    return await asyncio.to_thread(lambda: migrated(postgres_site(server)))


@asynccontextmanager
async def behind_proxy(server: Server) -> AsyncIterator[tuple[Store, Proxy]]:
    site = await made(server)
    address = urlsplit(site.address)
    assert address.port
    async with running_proxy("127.0.0.1", address.port) as proxy:
        store = site._replace(address=site.address.replace(f":{address.port}/", f":{proxy.port}/")).open()
        try:
            yield store, proxy
        finally:
            await store.close()


def nth(count: int) -> Callable[[bytes], bool]:
    left = [count]

    def trigger(_: bytes) -> bool:
        left[0] -= 1
        return left[0] < 0

    return trigger


def commits(data: bytes) -> bool:
    return b"COMMIT" in data


async def stubborn(call: Callable[[], Awaitable[T]], proxy: Proxy) -> tuple[T, bool]:
    """The answer, repeated under its op_id until there is one; and whether the first call was cut off."""
    try:
        return await call(), False
    except StoreLostError:
        proxy.disarm()
        return await call(), True


@pytest.mark.slow
@pytest.mark.rule("D06")
async def test_a_cut_commit_is_asked_again_and_has_one_effect(wide_postgres: Server) -> None:
    chance = random.Random(5)
    cut_off = {Cut.BEFORE: 0, Cut.AFTER: 0}
    async with behind_proxy(wide_postgres) as (store, proxy):
        submitted, finished = 0, 0
        while proxy.cuts < CUTS:
            how = chance.choice((Cut.BEFORE, Cut.AFTER))
            spec, op = specs(1)[0], new_id()
            proxy.cut(how, chance.choice((commits, commits, nth(chance.randrange(6)))))
            answer, was_cut = await stubborn(lambda s=spec, o=op: store.jobs.submit([s], op_id=o), proxy)  # type: ignore[misc]
            proxy.disarm()
            cut_off[how] += was_cut
            submitted += 1
            assert answer == [(spec.id, True)]
            assert await store.jobs.submit([spec], op_id=op) == answer, "a repeat answers as the first did"

            [job] = await store.jobs.claim(["default"], 1, "worker")
            assert job.id == spec.id
            changes, op = success([job], "worker"), new_id()
            how = chance.choice((Cut.BEFORE, Cut.AFTER))
            proxy.cut(how, chance.choice((commits, commits, nth(chance.randrange(6)))))
            applied, was_cut = await stubborn(lambda c=changes, o=op: store.jobs.apply(c, op_id=o), proxy)  # type: ignore[misc]
            proxy.disarm()
            cut_off[how] += was_cut
            finished += 1
            assert applied == ({job.id: job.version + 1}, [])
            assert await store.jobs.apply(changes, op_id=op) == applied
        proof = await prove(store)
    assert proof.wrong == []
    assert proof.states == {"succeeded": submitted}
    assert {job.version for job in proof.jobs.values()} == {4}
    assert min(cut_off.values()) > CUTS // 4, cut_off


@pytest.mark.parametrize("chunk", range(4))
async def test_a_connection_that_is_cut_while_it_is_made_is_a_lost_one(wide_postgres: Server, chunk: int) -> None:
    """Whatever it was at: callers are told what they know how to repeat, never the driver's own error."""
    async with behind_proxy(wide_postgres) as (store, proxy):
        proxy.cut(Cut.BEFORE, nth(chunk))
        with pytest.raises(ConnectionError):
            await store.jobs.submit(specs(1))
        assert proxy.cuts == 1
        assert (await prove(store)).states == {}


@pytest.mark.rule("D06")
@pytest.mark.parametrize("how", list(Cut))
async def test_a_refusal_is_remembered_too(wide_postgres: Server, how: Cut) -> None:
    """The first answer was no; that it would be yes by now does not matter."""
    async with behind_proxy(wide_postgres) as (store, proxy):
        [spec] = specs(1, max_tries=3)
        await store.jobs.submit([spec])
        [job] = await store.jobs.claim(["default"], 1, "one")
        changes = success([job._replace(attempt=2)], "one")
        proxy.cut(how, commits)
        refused, was_cut = await stubborn(lambda: store.jobs.apply(changes, op_id="op"), proxy)
        assert was_cut
        assert [(no.job_id, no.why) for no in refused.refused] == [(job.id, "stale")]
        await store.jobs.apply(move(DURABLE, [job], "hand_back", actor="one", owner="one"))
        [job] = await store.jobs.claim(["default"], 1, "one")
        assert job.attempt == 2
        assert await store.jobs.apply(changes, op_id="op") == refused
        assert (await prove(store)).states == {"running": 1}


async def test_backends_that_are_terminated_are_replaced(wide_postgres: Server) -> None:
    site = await made(wide_postgres)
    store = site.open(connections=2)
    admin = await asyncpg.connect(site.address)
    for _ in range(5):
        await store.jobs.submit(specs(2))
        assert len(await store.jobs.claim(["default"], 1, "one")) == 1
        killed = await admin.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'holdfast' AND datname = current_database()"
        )
        assert killed
        await asyncio.sleep(0.05)
        assert len(await store.jobs.claim(["default"], 1, "one")) == 1
    assert (await prove(store)).wrong == []
    await store.close()
    await admin.close()


async def test_a_backend_that_dies_under_a_call(wide_postgres: Server) -> None:
    """The call fails, nothing of it is left, and the next one finds a connection."""
    site = await made(wide_postgres)
    store = site.open()
    [spec] = specs(1)
    await store.jobs.submit([spec])
    [job] = await store.jobs.claim(["default"], 1, "one")
    admin = await asyncpg.connect(site.address)
    blocker = await asyncpg.connect(site.address)
    transaction = blocker.transaction()
    await transaction.start()
    await blocker.execute("SELECT 1 FROM holdfast_lease FOR UPDATE")
    call = asyncio.create_task(store.jobs.apply(success([job], "one")))
    waiting = "SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast' AND wait_event_type = 'Lock'"
    while not (pid := await admin.fetchval(waiting)):  # noqa: ASYNC110 -- only the server can tell
        await asyncio.sleep(0.01)
    await admin.execute("SELECT pg_terminate_backend($1)", pid)
    with pytest.raises(StoreLostError):
        await call
    await transaction.rollback()
    applied = await store.jobs.apply(success([job], "one"))
    assert applied.versions == {job.id: 4}
    assert (await prove(store)).wrong == []
    for connection in (admin, blocker):
        await connection.close()
    await store.close()


@pytest.mark.slow
async def test_restarts_under_load() -> None:
    """Orderly or by SIGKILL: within 3 s of the server's return calls work, and what was answered is there."""
    with running_postgres() as server:
        site = await made(server)
        store = site.open(connections=2)
        answered: set[str] = set()
        ended: set[str] = set()
        stop = asyncio.Event()

        async def insist(call: Callable[[], Awaitable[T]]) -> T:
            while True:
                try:
                    return await call()
                except AWAY:
                    await asyncio.sleep(0.01)

        async def client() -> None:
            while not stop.is_set():
                batch, op = specs(3, max_tries=50, lease_ms=600_000), new_id()
                await insist(lambda b=batch, o=op: store.jobs.submit(b, op_id=o))  # type: ignore[misc]
                answered.update(spec.id for spec in batch)

        async def worker(name: str) -> None:
            while not stop.is_set():
                jobs = await insist(lambda: store.jobs.claim(["default"], 3, name))
                if jobs:
                    changes, op = success(jobs, name), new_id()
                    applied = await insist(lambda c=changes, o=op: store.jobs.apply(c, op_id=o))  # type: ignore[misc]
                    ended.update(applied.versions)
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(work) for work in (client(), worker("one"), worker("two"))]
        slowest = 0.0
        for number in range(RESTARTS):
            await asyncio.sleep(0.1)
            if number % 2:
                server.kill()
            server.restart()
            back = time.monotonic()
            done = len(answered)
            while len(answered) == done:
                assert not [task for task in tasks if task.done()], tasks
                assert time.monotonic() < back + 3, "still no answer 3 s after the server was back"
                await asyncio.sleep(0.01)
            slowest = max(slowest, time.monotonic() - back)
        stop.set()
        await asyncio.gather(*tasks)
        proof = await prove(store)
        await store.close()
    print(f"{RESTARTS} restarts, {len(answered)} jobs, slowest first answer after {slowest * 1000:.0f} ms")
    assert proof.wrong == []
    assert set(proof.jobs) == answered, "a job that was answered is gone, or one appeared that nobody asked for"
    assert {proof.jobs[job_id].state for job_id in ended} == {"succeeded"}
    assert set(proof.states) <= {"succeeded", "queued", "running"}
