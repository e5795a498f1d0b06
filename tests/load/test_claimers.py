"""64 processes claim at once: no job is in two hands, and every transition leaves one event."""

import asyncio
import os
from collections import Counter

import pytest

from tests.load.crew import Crew
from tests.load.proof import audited, proof_of, twice
from tests.load.sites import Site, fill, specs

CLAIMERS = 64
MANY = 100_000 if os.environ.get("HOLDFAST_SOAK") else 10_000


async def _fill(site: Site, count: int) -> None:
    store = site.open()
    await fill(store, specs(count, payload="{}"))
    await store.close()


def _race(site: Site, hands: Crew, jobs: int, batch: int) -> None:
    asyncio.run(_fill(site, jobs))
    with hands.held_back():
        for _ in range(CLAIMERS):
            hands.start("claimer", site, batch=batch)
        for hand in hands.hands:
            hand.wait_for("ready")
    hands.join()

    told = {(job, attempt): name for name, [got] in hands.said("claimed") for job, attempt in got}
    claims = [(job, attempt) for _, [got] in hands.said("claimed") for job, attempt in got]
    finished = [job for _, [done, _] in hands.said("finished") for job in done]
    assert twice(claims) == []
    assert twice(finished) == []
    assert len(claims) == len(finished) == jobs
    assert sum(refused for _, [_, refused] in hands.said("finished")) == 0

    proof = asyncio.run(proof_of(site))
    assert proof.wrong == []
    assert asyncio.run(audited(site)) == (jobs, [])
    assert proof.states == Counter(succeeded=jobs)
    assert proof.granted() == told, "the log and the claimers tell of different owners"
    # submitted, claimed, started, succeeded: four transitions, four events.
    assert sum(job.version for job in proof.jobs.values()) == sum(map(len, proof.events.values())) == 4 * jobs
    assert len(set(told.values())) > CLAIMERS // 2, "too few took part for a race"


@pytest.mark.slow
@pytest.mark.rule("D22", "D03")
def test_1000_jobs(site: Site, hands: Crew) -> None:
    _race(site, hands, 1_000, batch=1)


@pytest.mark.slow
@pytest.mark.rule("D22", "D03")
def test_10000_jobs(site: Site, hands: Crew) -> None:
    _race(site, hands, MANY, batch=5)
