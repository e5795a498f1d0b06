"""Workers die by SIGKILL every 50 ms. Afterwards nothing is lost, and nothing happened twice."""

import asyncio
import os
import random
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfast.store.port import Store
from tests.load.conftest import migrated, postgres_site, sqlite_site
from tests.load.crew import Crew, Hand, crew
from tests.load.proof import Proof, audited, proof_of, prove, twice
from tests.load.reaping import reap, reap_until
from tests.load.sites import Site, fill, specs
from tests.services.postgres import Server

SECONDS = 600 if os.environ.get("HOLDFAST_SOAK") else 60
KILL_EVERY_S = 0.05
WORKERS = 6
LEASE_MS = 1_000
# Enough that there is work to the end, few enough that each job is met by several deaths.
BACKLOG = 400


@dataclass
class Battle:
    """What happened at one site."""

    site: Site
    crew: Crew
    submitted: int = 0
    kills: int = 0
    reaped: int = 0
    proof: Proof | None = None


async def _fight(battle: Battle, seconds: float, seed: int) -> None:
    chance = random.Random(seed)
    store = battle.site.open(connections=2)
    stop = asyncio.Event()

    def hire() -> Hand:
        return battle.crew.start(
            "worker", battle.site, batch=chance.choice((1, 4, 16)), hold_ms=60, seed=chance.randrange(1 << 30)
        )

    async def feed() -> None:
        while not stop.is_set():
            ready = (await store.reads.counts()).get(("durable", "queued"), 0)
            if ready < BACKLOG:
                await fill(store, specs(BACKLOG, payload="{}", max_tries=20, lease_ms=LEASE_MS))
                battle.submitted += BACKLOG
            await asyncio.sleep(0.2)

    async def kill() -> None:
        workers = [hire() for _ in range(WORKERS)]
        deadline = time.monotonic() + seconds
        due = time.monotonic()
        # A minute at least: where the machine is slow to kill, until there was enough of it.
        while (now := time.monotonic()) < deadline or battle.kills < seconds / KILL_EVERY_S / 2:
            due = max(due + KILL_EVERY_S, now)
            await asyncio.sleep(due - now)
            place = chance.randrange(WORKERS)
            workers[place].kill()
            battle.kills += 1
            workers[place] = hire()
        stop.set()

    _, _, battle.reaped = await asyncio.gather(kill(), feed(), reap_until(store, stop))
    await _drain(battle.site, battle.crew, store)
    battle.proof = await prove(store)
    await store.close()


async def _drain(site: Site, hands: Crew, store: Store) -> None:
    """The workers that are left finish the rest, with the reaper behind those that died."""
    deadline = time.monotonic() + 90
    while True:
        await reap(store, store.tables)
        counts = await store.reads.counts()
        open_jobs = sum(n for (_, state), n in counts.items() if state in ("queued", "assigned", "running"))
        if not open_jobs:
            break
        assert [line for hand in hands.hands[-WORKERS:] for line in hand.said("error")] == []
        assert time.monotonic() < deadline, f"still open: {counts}"
        await asyncio.sleep(0.1)
    for hand in hands.hands:
        hand.kill()


@pytest.mark.slow
@pytest.mark.rule("D25", "D10", "D03", "D04")
def test_a_minute_of_kills(wide_postgres: Server, tmp_path: Path) -> None:
    """Both stores at once: a minute of killing each costs a minute in all."""
    with crew(tmp_path / "one") as one, crew(tmp_path / "two") as two:
        battles = [
            Battle(migrated(sqlite_site(tmp_path)), one),
            Battle(migrated(postgres_site(wide_postgres)), two),
        ]

        async def both() -> None:
            await asyncio.gather(*(_fight(battle, SECONDS, seed) for seed, battle in enumerate(battles)))

        asyncio.run(both())
        for battle in battles:
            _check(battle)


def _check(battle: Battle) -> None:
    proof = battle.proof
    assert proof is not None
    print(
        f"{battle.site.kind}: {battle.submitted} jobs, {battle.kills} kills, {battle.reaped} reaped,"
        f" {dict(proof.states)}"
    )
    assert battle.reaped > 0, "no kill hit a worker that held a job"
    assert battle.submitted > 1_000
    assert proof.wrong == []
    assert asyncio.run(audited(battle.site)) == (battle.submitted, [])
    # Nothing is lost: what was submitted is there, and it is over.
    assert sum(proof.states.values()) == battle.submitted
    assert set(proof.states) <= {"succeeded", "dead_lettered"}
    # Only a job that three workers died of is given up.
    assert all(job.losses == 2 for job in proof.jobs.values() if job.state == "dead_lettered")
    # Nothing is done twice, by what the workers saw: a claim and a success belong to one of them.
    claims = [tuple(lease) for _, [got] in battle.crew.said("claimed") for lease in got]
    assert twice(claims) == []
    finished = [job for _, [done, _] in battle.crew.said("finished") for job in done]
    assert twice(finished) == []
    granted = proof.granted()
    for name, [got] in battle.crew.said("claimed"):
        assert all(granted[job, attempt] == name for job, attempt in got)
    # What a worker was told is done is done.
    assert {proof.jobs[job].state for job in finished} == {"succeeded"}
    assert battle.crew.said("error") == []


@pytest.mark.rule("D10")
def test_killed_between_claim_and_finish(site: Site, hands: Crew) -> None:
    async def submit_and_reap(again: bool) -> None:
        store = site.open()
        if again:
            while not await reap(store, store.tables):  # noqa: ASYNC110 -- a lease ends by itself
                await asyncio.sleep(0.02)
        else:
            await fill(store, specs(5, max_tries=3, lease_ms=300))
        await store.close()

    asyncio.run(submit_and_reap(False))
    with hands.held_back():
        first = hands.start("holder", site, batch=5)
        first.wait_for("claimed")
        first.kill()
    asyncio.run(submit_and_reap(True))
    second = hands.start("holder", site, batch=5)
    assert len(second.wait_for("finished")[0]) == 5
    proof = asyncio.run(proof_of(site))
    assert proof.wrong == []
    assert {(job.state, job.attempt, job.losses, job.tries) for job in proof.jobs.values()} == {("succeeded", 2, 1, 2)}
    lost = proof.all_of("job_lease_expired")
    assert [(event.actor, event.reason) for event in lost] == [("reaper", "lease_expired")] * 5


@pytest.mark.slow
@pytest.mark.rule("D25", "D05")
def test_killed_in_the_middle_of_a_finish(site: Site, hands: Crew) -> None:
    """A finish of 200 jobs is cut off at a random moment: all of it happened, or nothing of it."""
    tries, size = 30, 200
    chance = random.Random(7)
    within_s = 0.025

    async def prepare() -> None:
        store = site.open()
        await fill(store, specs(tries * size, max_tries=9, lease_ms=600_000))
        await store.close()

    asyncio.run(prepare())
    for _ in range(tries):
        with hands.held_back():
            hand = hands.start("holder", site, batch=size)
            hand.wait_for("claimed")
        time.sleep(chance.random() * within_s)
        hand.kill()
        # How long a finish takes differs by machine: after a kill that came too late the next ones come sooner.
        within_s *= 0.7 if hand.said("finished") else 1.3
    # PostgreSQL may still be at the last one: it notices a dead client when it answers.
    time.sleep(0.5)
    proof = asyncio.run(proof_of(site))
    assert proof.wrong == []
    outcomes: list[str] = []
    for hand in hands.hands:
        [[got]] = hand.said("claimed")
        states = {proof.jobs[job].state for job, _ in got}
        assert len(states) == 1, f"half a finish: {states}"
        outcomes += states
        if hand.said("finished"):
            assert states == {"succeeded"}
    assert set(outcomes) == {"running", "succeeded"}, "no kill came before the commit, or none behind it"
