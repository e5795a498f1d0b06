"""A worker that sleeps through its lease wakes up to nothing: the job went on without it."""

import asyncio
import signal

import pytest

from tests.load.crew import Crew
from tests.load.hands import success
from tests.load.proof import proof_of, prove
from tests.load.reaping import reap
from tests.load.sites import Site, fill, specs

LEASE_MS = 1_000
JOBS = 3


@pytest.mark.slow
@pytest.mark.rule("D07", "D03")
def test_stopped_for_longer_than_its_lease(site: Site, hands: Crew) -> None:
    async def submit() -> None:
        store = site.open()
        await fill(store, specs(JOBS, max_tries=3, lease_ms=LEASE_MS))
        await store.close()

    async def go_on_without_it() -> None:
        store = site.open()
        moved = 0
        while moved < JOBS:
            moved += await reap(store, store.tables)
            await asyncio.sleep(0.02)
        jobs = await store.jobs.claim(["default"], JOBS, "another")
        assert {job.attempt for job in jobs} == {2}
        applied = await store.jobs.apply(success(jobs, "another", '"in time"'))
        assert len(applied.versions) == JOBS
        await store.close()

    asyncio.run(submit())
    with hands.held_back():
        sleeper = hands.start("holder", site, batch=JOBS)
        [claimed] = sleeper.wait_for("claimed")
        sleeper.send(signal.SIGSTOP)
    asyncio.run(go_on_without_it())
    before = asyncio.run(proof_of(site))
    sleeper.send(signal.SIGCONT)
    sleeper.join()
    hands.join()

    ids = sorted(job for job, _ in claimed)
    for word in ("finished", "failed"):
        [[moved, refused]] = sleeper.said(word)
        assert moved == []
        assert sorted(refused) == [[job, "stale"] for job in ids], "each late write is refused and counted"
    assert sorted(sleeper.said("renewed")[0][0]) == ids
    after = asyncio.run(proof_of(site))
    assert after.wrong == []
    assert (after.jobs, after.events) == (before.jobs, before.events)
    assert {(job.state, job.attempt, job.outcome) for job in after.jobs.values()} == {
        ("succeeded", 2, '{"result":"in time"}')
    }


@pytest.mark.slow
@pytest.mark.rule("D07")
def test_stopped_and_not_yet_replaced(site: Site, hands: Crew) -> None:
    """The lease alone decides: that nobody has taken the job yet does not help a worker that is late."""

    async def submit() -> None:
        store = site.open()
        await fill(store, specs(JOBS, max_tries=3, lease_ms=LEASE_MS))
        await store.close()

    async def wait_for_the_end_of_the_lease() -> None:
        store = site.open()
        while len(await store.upkeep.lost(10)) < JOBS:  # noqa: ASYNC110 -- a lease ends by itself
            await asyncio.sleep(0.02)
        await store.close()

    asyncio.run(submit())
    with hands.held_back():
        sleeper = hands.start("holder", site, batch=JOBS)
        [claimed] = sleeper.wait_for("claimed")
        sleeper.send(signal.SIGSTOP)
        asyncio.run(wait_for_the_end_of_the_lease())
    sleeper.send(signal.SIGCONT)
    hands.join()

    ids = sorted(job for job, _ in claimed)
    for word in ("finished", "failed"):
        [[moved, refused]] = sleeper.said(word)
        assert (moved, sorted(refused)) == ([], [[job, "lease"] for job in ids])
    assert sorted(sleeper.said("renewed")[0][0]) == ids

    async def reap_after_all() -> None:
        store = site.open()
        assert await reap(store, store.tables) == JOBS
        proof = await prove(store)
        assert proof.wrong == []
        assert {(job.state, job.attempt) for job in proof.jobs.values()} == {("queued", 2)}
        await store.close()

    asyncio.run(reap_after_all())
