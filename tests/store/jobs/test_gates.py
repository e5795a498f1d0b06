"""Gates: what a limit lets through, whoever claims."""

from __future__ import annotations

import asyncio
import json

from holdfast.kernel.limit import NamedLimit
from holdfast.kernel.outcome import Done
from holdfast.store.jobs.claiming import LAST_GATE
from holdfast.store.jobs.claiming import lanes as lanes_of
from holdfast.store.jobs.limits import AT_ONCE
from holdfast.store.port import Store
from tests.store.scenes import RIVAL, WORKER, Clock, assert_all_clean, end, spec
from tests.tables import driver_of


async def fill(store: Store, gate: NamedLimit, count: int, priority: int = 0) -> list[str]:
    options = json.dumps({"limit": gate.to_dict()})
    answers = await store.jobs.submit([spec(options=options, priority=priority) for _ in range(count)])
    return [answer.job_id for answer in answers]


async def claimed(store: Store, limit: int = 100, owner: str = WORKER) -> list[str]:
    return [job.id for job in await store.jobs.claim(("default",), limit, owner)]


async def test_no_more_than_the_limit_at_once_and_the_next_when_one_ends(store: Store) -> None:
    ids = await fill(store, NamedLimit("domain:a", running=2), 5)
    first = await store.jobs.claim(("default",), 10, WORKER)
    assert [job.id for job in first] == ids[:2]
    assert await claimed(store, owner=RIVAL) == []
    await end(store, first[0], Done(None))
    assert await claimed(store, owner=RIVAL) == [ids[2]]
    assert await claimed(store) == []
    await assert_all_clean(store)


async def test_gates_hold_for_themselves_and_leave_others_alone(store: Store) -> None:
    a = await fill(store, NamedLimit("a", running=1), 3)
    b = await fill(store, NamedLimit("b", running=2), 3)
    [free] = [answer.job_id for answer in await store.jobs.submit([spec()])]
    assert set(await claimed(store)) == {a[0], b[0], b[1], free}


async def test_a_higher_priority_goes_first_through_its_gate(store: Store) -> None:
    gate = NamedLimit("a", running=1)
    await fill(store, gate, 2)
    urgent = await fill(store, gate, 1, priority=9)
    assert await claimed(store) == urgent


async def test_a_rate_lets_through_as_time_goes_by(store: Store, clock: Clock) -> None:
    ids = await fill(store, NamedLimit("a", interval_us=500_000, burst=2), 6)
    assert await claimed(store) == ids[:2], "a burst"
    assert await claimed(store) == []
    assert store.jobs.opens_in_s == 0.5
    clock.advance(499)
    assert await claimed(store) == []
    clock.advance(1)
    assert await claimed(store) == ids[2:3]
    clock.advance(10_000)
    assert await claimed(store) == ids[3:5], "what was not used is not saved up beyond the burst"


async def test_a_lost_lease_makes_room_only_when_it_is_taken_back(store: Store, clock: Clock) -> None:
    ids = await fill(store, NamedLimit("a", running=1), 2)
    [job] = await store.jobs.claim(("default",), 10, WORKER)
    clock.advance(job.lease_ms + 1)
    assert await claimed(store, owner=RIVAL) == [], "its holder may still be at it"
    [lost] = await store.upkeep.lost(10)
    assert lost.id == ids[0]


async def test_a_changed_limit_holds_from_the_next_job_on(store: Store) -> None:
    await fill(store, NamedLimit("a", running=1), 1)
    assert len(await claimed(store)) == 1
    more = await fill(store, NamedLimit("a", running=3), 4)
    assert await claimed(store) == more[:2], "one runs already"


async def test_more_gates_than_one_look_covers_all_have_their_turn(store: Store) -> None:
    count = 2 * AT_ONCE + 50
    wanted = {(await fill(store, NamedLimit(f"g{n:04}", running=1), 2))[0] for n in range(count)}
    got: set[str] = set()
    while ids := await claimed(store, 90):
        assert not got & set(ids)
        got |= set(ids)
    assert got == wanted
    lanes = await driver_of(store).read(lanes_of())
    assert [lane.gate for lane in lanes] == [LAST_GATE], "one lane stands for all of them"


async def test_claimers_together_never_pass_a_limit(store: Store, other: Store) -> None:
    """Several connections claim at once; whatever they get, no gate has more than its limit."""
    for name in "abc":
        await fill(store, NamedLimit(name, running=2), 40)
    for _ in range(20):
        claims = (claimer.jobs.claim(("default",), 50, WORKER) for claimer in [store, other] * 4)
        held = [job for part in await asyncio.gather(*claims) for job in part]
        gates = [json.loads(job.options or "{}")["limit"]["name"] for job in held]
        assert max(map(gates.count, gates)) <= 2, gates
        for job in held:
            await end(store, job, Done(None))
    await assert_all_clean(store)


async def test_a_claim_under_an_op_id_keeps_to_the_limit(store: Store) -> None:
    ids = await fill(store, NamedLimit("a", running=2), 5)
    for _ in range(2):
        assert {job.id for job in await store.jobs.claim(("default",), 10, WORKER, op_id="once")} == set(ids[:2])


async def test_the_backlog_counts_what_waits_behind_gates(store: Store) -> None:
    for name in "abc":
        await fill(store, NamedLimit(name, running=1), 2)
    await store.jobs.submit([spec()])
    assert (await store.admin.queues.depths())["default"][1:4] == (7, 7, 0)
