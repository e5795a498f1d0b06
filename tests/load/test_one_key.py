"""64 clients submit under the same keys at once: one job per key, and everybody is told its id (I11)."""

import asyncio
import os
from collections import defaultdict

import pytest

from tests.load.crew import Crew
from tests.load.proof import proof_of
from tests.load.sites import Site

CLIENTS = 64
KEYS = 10_000 if os.environ.get("HOLDFAST_SOAK") else 100


@pytest.mark.slow
def test_64_clients_one_job_per_key(site: Site, hands: Crew) -> None:
    with hands.held_back():
        for _ in range(CLIENTS):
            hands.start("submitter", site, keys=KEYS)
        for hand in hands.hands:
            hand.wait_for("ready")
    hands.join()

    holders: dict[int, set[str]] = defaultdict(set)
    makers: dict[int, list[str]] = defaultdict(list)
    answers = 0
    for name, [got] in hands.said("got"):
        for key, job_id, created in got:
            answers += 1
            holders[key].add(job_id)
            if created:
                makers[key].append(name)
    assert answers == CLIENTS * KEYS
    assert {key for key, ids in holders.items() if len(ids) != 1} == set(), "two clients were told of two jobs"
    assert [key for key in range(KEYS) if len(makers[key]) != 1] == [], "created by nobody, or by several"
    assert len({maker for makers_of in makers.values() for maker in makers_of}) > 1, "this was no race"

    proof = asyncio.run(proof_of(site))
    assert proof.wrong == []
    assert len(proof.jobs) == KEYS
    for key, [maker] in makers.items():
        [job_id] = holders[key]
        assert (proof.jobs[job_id].key, proof.jobs[job_id].payload) == (f"key-{key}", f'"{maker}"')

    async def held() -> dict[str, str | None]:
        store = site.open()
        found = {f"key-{key}": await store.reads.key_holder("work", f"key-{key}") for key in range(KEYS)}
        await store.close()
        return found

    assert asyncio.run(held()) == {f"key-{key}": job_id for key, [job_id] in holders.items()}
