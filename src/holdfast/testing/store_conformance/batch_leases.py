"""The leases of one claim's members: each is renewed, let go and lost by itself, and its loss counts once."""

from __future__ import annotations

from holdfast.kernel.decisions import cancel
from holdfast.kernel.durable import DURABLE
from holdfast.store.port import Ask, Lease
from holdfast.testing.store_conformance.batch import (
    Fields,
    Members,
    batch_of,
    ended,
    in_ms,
    lost,
    now,
    reap,
    rest_of,
    up,
)
from holdfast.testing.store_conformance.pair import RIVAL, WORKER, Check, Pair

SHORT_MS = 1_000
RENEWED: Fields = {"lease_until_ms": in_ms(SHORT_MS)}
TAKEN: Fields = {
    "version": up,
    "attempt": up,
    "losses": up,
    "lease_owner": RIVAL,
    "lease_until_ms": in_ms(SHORT_MS),
    "changed_at_ms": now,
    "started_at_ms": now,
    "expires_at_ms": in_ms(7_200_000),
}


async def of_a_batch_that_was_partly_done_only_the_rest_is_lost(pair: Pair) -> None:
    batch = await batch_of(pair, 6, lease_ms=SHORT_MS)
    await batch.end(4, 1)
    await pair.store.jobs.change([batch[2].id], cancel("enough", "hard"), Ask())
    await batch.do("retry", 5)
    await batch.look()
    pair.database.pass_ms(SHORT_MS)
    found = await pair.other.upkeep.lost(9)
    assert sorted(found) == batch.some(0, 3), "who has left a batch is lost with it, or the rest is not"
    assert await pair.store.admin.queues.lost() == 2
    assert await reap(pair.store, found) == 2
    await batch.are({0: lost(), 3: lost()}, "a loss is counted for others than the lost")
    assert await pair.store.upkeep.lost(9) == [], "what was lost is lost again"
    whys = batch.whys((await batch.end(*range(6))).refused)
    assert whys == {0: "stale", 1: "state", 2: "state", 3: "stale", 4: "state", 5: "stale"}, f"refusals say {whys}"
    await batch.are({})
    again = await rest_of(pair, owner=RIVAL, store=pair.other)
    counts = {job.id: (job.attempt, job.tries, job.losses) for job in again.jobs}
    wanted = {batch[0].id: (2, 2, 1), batch[3].id: (2, 2, 1), batch[5].id: (2, 2, 0)}
    assert counts == wanted, f"attempts, tries and losses are {counts}"


async def a_lost_list_is_of_jobs_and_the_first_to_lapse_leads_it(pair: Pair) -> None:
    specs = [pair.spec(lease_ms=lease_ms) for lease_ms in (3_000, 1_000, 2_000, 4_000, 60_000)]
    batch = await batch_of(pair, specs)
    for ms, numbers in ((999, []), (1, [1]), (1_000, [1, 2]), (1_000, [1, 2, 0]), (1_000, [1, 2, 0, 3])):
        pair.database.pass_ms(ms)
        found = [job.id for job in await pair.store.upkeep.lost(9)]
        assert batch.numbers(found) == numbers, "a lease is as long as its job's"
    assert batch.numbers([job.id for job in await pair.store.upkeep.lost(2)]) == [1, 2], "a limit counts jobs"
    await batch.are({}, "that time passes changes nothing")


async def a_lease_is_renewed_for_some_and_lapses_for_others(pair: Pair) -> None:
    batch = await batch_of(pair, 5, lease_ms=SHORT_MS)
    pair.database.pass_ms(600)
    assert await pair.store.jobs.renew(WORKER, batch.leases(3, 1), beat=False) == []
    await batch.are({1: RENEWED, 3: RENEWED}, "a renewal is of others, too")
    pair.database.pass_ms(400)
    assert sorted(await pair.store.upkeep.lost(9)) == batch.some(0, 2, 4), "the leases that nobody renewed go on"
    assert await pair.store.jobs.renew(WORKER, batch.leases(*range(5))) == [job.id for job in batch.some(0, 2, 4)]
    await batch.are({1: RENEWED, 3: RENEWED}, "a lapsed lease is renewed with its neighbours'")
    beats = [len(await pair.store.reads.signals(job.id)) for job in batch.jobs]
    assert beats == [0, 1, 0, 1, 0], "a beat is left by whose lease was renewed"
    assert batch.whys((await batch.end(2, 3)).refused) == {2: "lease"}
    await batch.are({3: ended()})
    assert await pair.other.jobs.renew(WORKER, batch.leases(3, 1), beat=False) == [batch[3].id], "what ended is renewed"


async def leases_of_several_batches_are_renewed_in_one_call(pair: Pair) -> None:
    first, second = await batch_of(pair, 3, lease_ms=SHORT_MS), await batch_of(pair, 3, lease_ms=SHORT_MS)
    theirs = await batch_of(pair, 2, owner=RIVAL, lease_ms=SHORT_MS)
    await first.end(0)
    await first.look()
    pair.database.pass_ms(600)
    wrong = Lease(second[1].id, 2)
    leases = [*second.leases(2), *first.leases(0, 1), wrong, *theirs.leases(0)]
    gone = await pair.store.jobs.renew(WORKER, leases)
    assert gone == [first[0].id, second[1].id, theirs[0].id], f"a renewal names as lost {gone}"
    await first.are({1: RENEWED})
    await second.are({2: RENEWED})
    await theirs.are({})


async def some_are_let_go_and_the_others_are_held(pair: Pair) -> None:
    batch = await batch_of(pair, 5)
    pair.database.pass_ms(100)
    await pair.store.jobs.let_go(WORKER, [*batch.leases(2, 4), Lease(batch[0].id, 2)])
    await batch.are({2: {"lease_until_ms": now}, 4: {"lease_until_ms": now}}, "others are let go with some")
    await pair.store.jobs.let_go(RIVAL, batch.leases(0, 1))
    pair.database.pass_ms(100)
    await pair.store.jobs.let_go(WORKER, batch.leases(2))
    await batch.are({}, "a lease that has ended is ended once more, or by another")
    assert sorted(job.id for job in await pair.other.upkeep.lost(9)) == [batch[2].id, batch[4].id]
    assert await pair.store.jobs.renew(WORKER, batch.leases(2, 4)) == [batch[2].id, batch[4].id], "it comes back"
    assert batch.whys((await batch.end(*range(5))).refused) == {2: "lease", 4: "lease"}
    await batch.are({n: ended() for n in (0, 1, 3)})


async def some_of_a_lapsed_batch_are_taken_over(pair: Pair) -> None:
    batch = await batch_of(pair, 5, lifecycle="pipeline", lease_ms=SHORT_MS)
    await batch.end(2)
    pair.database.pass_ms(500)
    await pair.store.jobs.renew(WORKER, batch.leases(0), beat=False)
    await batch.look()
    pair.database.pass_ms(500)
    first = Members(pair, await pair.other.jobs.take_over(["default"], 2, RIVAL))
    numbers = batch.numbers([job.id for job in first.jobs])
    assert (len(numbers), {*numbers, 1, 3, 4}) == (2, {1, 3, 4}), f"members {numbers} were taken over"
    await batch.are(dict.fromkeys(numbers, TAKEN), "who is not taken over changes with who is")
    [left] = {1, 3, 4}.difference(numbers)
    whys = batch.whys((await batch.end(*range(1, 5))).refused)
    assert whys == {**dict.fromkeys(numbers, "stale"), left: "lease", 2: "state"}, f"refusals say {whys}"
    [last] = await pair.store.jobs.take_over(["default"], 9, RIVAL)
    assert last.id == batch[left].id
    await batch.are({left: TAKEN})
    assert (await batch.end(0)).refused == [], "the one whose lease held loses it with its neighbours"
    over = await batch.do("succeed", *numbers, owner=RIVAL)
    assert batch.whys(over.refused) == dict.fromkeys(numbers, "stale"), "the new owner reports under the old fence"
    assert (await first.do("succeed", 1, 0, owner=RIVAL)).refused == []


async def who_crashed_too_often_is_lost_and_its_neighbour_taken_over(pair: Pair) -> None:
    worn = await pair.running("pipeline", lease_ms=SHORT_MS)
    pair.database.pass_ms(SHORT_MS)
    assert len(await pair.other.jobs.take_over(["default"], 9, RIVAL)) == 1
    fresh = await pair.running("pipeline", lease_ms=SHORT_MS)
    pair.database.pass_ms(SHORT_MS)
    taken = {job.id: job.losses for job in await pair.other.jobs.take_over(["default"], 9, RIVAL)}
    assert taken == {worn.id: 2, fresh.id: 1}, f"losses are {taken}"
    pair.database.pass_ms(SHORT_MS)
    found = await pair.store.upkeep.lost(9)
    assert [job.id for job in found] == [worn.id], "one's crashes are held against its neighbour"
    again = await pair.store.jobs.take_over(["default"], 9, WORKER)
    assert [(job.id, job.attempt, job.losses) for job in again] == [(fresh.id, 3, 2)]
    await pair.lose(*found)
    assert [(await pair.job(job.id)).state for job in (worn, fresh)] == ["failed", "running"]


async def members_of_other_pasts_are_lost_as_their_own_says(pair: Pair) -> None:
    fresh, tried, crashed = [pair.spec(lease_ms=SHORT_MS) for _ in range(3)]
    worn = pair.spec(lease_ms=SHORT_MS, max_tries=2)
    batch = await batch_of(pair, [tried, crashed, worn])
    await batch.do("retry", 0, 2)
    pair.database.pass_ms(SHORT_MS)
    await reap(pair.store, await pair.store.upkeep.lost(9))
    await pair.store.jobs.submit([fresh])
    again = await rest_of(pair)
    pasts = [(job.attempt, job.tries, job.losses) for job in again.jobs]
    assert pasts == [(1, 1, 0), (2, 2, 0), (2, 2, 1), (2, 2, 0)], f"attempts, tries and losses are {pasts}"
    pair.database.pass_ms(SHORT_MS)
    assert await reap(pair.other, await pair.other.upkeep.lost(9)) == 4
    outcome = (await pair.job(worn.id)).outcome
    dead = ended("dead_lettered", outcome=outcome)
    await again.are({0: lost(), 1: lost(), 2: lost(), 3: dead}, "one's budget is counted against another")


async def who_was_asked_to_stop_is_cancelled_when_lost_and_its_neighbours_go_on(pair: Pair) -> None:
    batch = await batch_of(pair, 3, lease_ms=SHORT_MS)
    await pair.store.jobs.request_cancel(batch.leases(1), "soft: enough")
    await batch.look()
    pair.database.pass_ms(SHORT_MS)
    assert await reap(pair.store, await pair.store.upkeep.lost(9)) == 3
    await batch.are({0: lost(), 1: ended("cancelled"), 2: lost()}, "what one is asked is asked of its neighbours")
    again = await rest_of(pair)
    assert [job.cancel_requested for job in again.jobs] == [None, None]


async def assigned_and_running_members_are_lost_from_where_they_stand(pair: Pair) -> None:
    batch = await batch_of(pair, 4, start=False, lease_ms=SHORT_MS)
    await batch.do("start", 3, 0)
    pair.database.pass_ms(SHORT_MS)
    await batch.look()
    found = {job.id: job for job in await pair.store.upkeep.lost(9)}
    states = [found[job.id].state for job in batch.jobs]
    assert states == ["running", "assigned", "assigned", "running"], f"the lost are {states}"
    running = batch.along([0, 3], "lose", owner=None)._replace(path=(DURABLE.row("running", "lose"),))
    applied = await pair.store.jobs.apply([running, batch.along([1, 2, 0], "lose", owner=None)])
    assert batch.whys(applied.refused) == {0: "stale"}
    await batch.are({n: lost() for n in range(4)})


async def what_is_counted_follows_each_member(pair: Pair) -> None:
    batch = await batch_of(pair, [pair.spec(task=task, lease_ms=SHORT_MS) for task in ("a", "b", "a", "a", "b")])
    queues = pair.other.admin.queues

    async def counted() -> tuple[int, dict[str, int], int, int, int]:
        depths, states = await queues.depths(), await pair.store.reads.counts()
        depth = depths["default"]
        assert depth.due == await queues.backlog("default", 9), "a backlog is another than the queue's depth"
        tasks = dict(await queues.leased_by_task())
        return depth.leased, tasks, depth.due, states.get(("durable", "running"), 0), await queues.lost()

    assert await counted() == (5, {"a": 3, "b": 2}, 0, 5, 0)
    await batch.end(0, 1)
    assert await counted() == (3, {"a": 2, "b": 1}, 0, 3, 0), "who has left its batch is counted as held"
    await batch.do("retry", 3)
    assert await counted() == (2, {"a": 1, "b": 1}, 1, 2, 0)
    pair.database.pass_ms(SHORT_MS)
    assert (await counted())[-1] == 2, "who has left its batch is counted as lost"
    await reap(pair.store, await pair.store.upkeep.lost(9))
    assert await counted() == (0, {}, 3, 0, 0)
    assert await pair.store.reads.counts() == {("durable", "queued"): 3, ("durable", "succeeded"): 2}


CHECKS: tuple[Check, ...] = (
    of_a_batch_that_was_partly_done_only_the_rest_is_lost,
    a_lost_list_is_of_jobs_and_the_first_to_lapse_leads_it,
    a_lease_is_renewed_for_some_and_lapses_for_others,
    leases_of_several_batches_are_renewed_in_one_call,
    some_are_let_go_and_the_others_are_held,
    some_of_a_lapsed_batch_are_taken_over,
    who_crashed_too_often_is_lost_and_its_neighbour_taken_over,
    members_of_other_pasts_are_lost_as_their_own_says,
    who_was_asked_to_stop_is_cancelled_when_lost_and_its_neighbours_go_on,
    assigned_and_running_members_are_lost_from_where_they_stand,
    what_is_counted_follows_each_member,
)
