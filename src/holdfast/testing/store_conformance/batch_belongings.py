"""What hangs on a member of a batch: what it keeps, its key, its place behind a limit, its expiry, its letter."""

from __future__ import annotations

import json

from holdfast.chores.sealer import Sealer
from holdfast.kernel import settle
from holdfast.kernel.decisions import cancel
from holdfast.kernel.graph.dag import Join
from holdfast.kernel.job import Job
from holdfast.kernel.limit import NamedLimit
from holdfast.kernel.move import Change
from holdfast.kernel.outcome import Fail
from holdfast.store.port import Ask, NewNode, Submitted
from holdfast.testing.store_conformance.batch import RESULT, batch_of, ended, rest_of
from holdfast.testing.store_conformance.pair import FAILURE, LEASE_MS, RIVAL, WORKER, Check, Pair


async def keeps(pair: Pair, job: Job, text: str, owner: str = WORKER) -> bool:
    """Whether a job may keep a step, a checkpoint and an artifact: all three, or none."""
    kept, mine = pair.store.kept, (job.id, job.attempt, owner)
    step = await kept.keep_step(*mine, "one", text)
    checkpoint = await kept.keep_checkpoint(*mine, text)
    file = await kept.keep_artifact(*mine, "file", text.encode())
    assert step == checkpoint == file, f"a step is kept: {step}, a checkpoint: {checkpoint}, a file: {file}, of {job}"
    return file


async def a_member_keeps_what_it_makes_whatever_its_neighbours_do(pair: Pair) -> None:
    batch = await batch_of(pair, 6)
    assert [await keeps(pair, job, str(n)) for n, job in enumerate(batch.jobs)] == [True] * 6
    await batch.end(0)
    await pair.store.jobs.change([batch[1].id], cancel("enough", "hard"), Ask())
    await batch.do("retry", 2)
    await pair.store.jobs.let_go(WORKER, batch.leases(3))
    may = [await keeps(pair, job, f'"{n}"') for n, job in enumerate(batch.jobs)]
    assert may == [False] * 4 + [True] * 2, "who has left its batch keeps something, or who has not is refused"
    kept = pair.other.kept
    assert not await keeps(pair, batch[4], '"theirs"', RIVAL), "another owner writes into a member"
    checkpoints = [await kept.checkpoint(job.id) for job in batch.jobs]
    assert checkpoints == ["0", "1", "2", "3", '"4"', '"5"'], "a refused write has changed something"
    files = [[artifact.size for artifact in await kept.artifacts(job.id)] for job in batch.jobs]
    assert files == [[1], [], [1], [1], [3], [3]], "a hard cancel forgets what its job had made, and no other's"
    [again] = await pair.other.jobs.claim(["default"], 9, WORKER)
    assert not await keeps(pair, batch[2], '"late"'), "the last attempt writes into the next"
    assert await keeps(pair, again, '"new"')
    await batch.end(4)
    assert [await keeps(pair, job, "6") for job in batch.some(4, 5)] == [False, True]
    assert [await kept.steps(job.id) for job in batch.some(2, 5)] == [[("one", 2)], [("one", 1)]]


async def a_key_passes_on_when_its_member_ends(pair: Pair) -> None:
    batch = await batch_of(pair, [pair.spec(key=f"k{n}") for n in range(4)])
    await batch.end(1)
    await batch.do("retry", 2)
    news = [pair.spec(key=f"k{n}", delay_ms=LEASE_MS) for n in range(4)]
    answers = await pair.other.jobs.submit(news)
    holders = [batch[0].id, news[1].id, batch[2].id, batch[3].id]
    assert answers == [Submitted(job_id, job_id == news[1].id) for job_id in holders], f"keys pass on as {answers}"
    assert [await pair.store.reads.key_holder("task", f"k{n}") for n in range(4)] == holders
    await batch.look()
    [new] = await pair.other.jobs.submit([pair.spec(key="k0", duplicates="replace")])
    await batch.are({0: ended("cancelled")}, "who is replaced while it runs goes on, or its neighbours do not")
    assert batch.whys((await batch.end(0, 3)).refused) == {0: "state"}, "who was replaced ends well"
    assert await pair.store.reads.key_holder("task", "k0") == new.job_id
    assert await pair.store.reads.live_keys_twice() == []


async def a_limit_lets_in_as_many_as_have_left(pair: Pair) -> None:
    options = json.dumps({"limit": NamedLimit("shared", running=4).to_dict()})
    await pair.store.jobs.submit([pair.spec(options=options) for _ in range(12)])
    batch = await rest_of(pair)

    async def let_in() -> int:
        return len(await pair.other.jobs.claim(["default"], 9, RIVAL))

    assert (len(batch.jobs), await let_in()) == (4, 0)
    await batch.end(2, 0)
    await batch.end(0)
    assert await let_in() == 2, "a limit lets in as many as have ended, and counts none of them twice"
    await pair.store.jobs.change([batch[1].id], cancel("enough", "hard"), Ask())
    assert (await let_in(), await let_in()) == (1, 0), "who was cancelled goes on holding its place"
    assert (await batch.end(1)).versions == {}
    assert await let_in() == 0, "a late report frees a place once more"
    pair.database.pass_ms(LEASE_MS)
    assert await let_in() == 0, "a lapsed lease holds its place until somebody takes it back"
    row = await pair.store.admin.queues.limit(await pair.job(batch[3].id))
    assert row is not None
    assert row.held == 4
    await pair.lose(await pair.job(batch[3].id))
    assert await let_in() == 1, "who was lost goes on holding its place"


async def what_waits_expires_beside_what_is_held(pair: Pair) -> None:
    batch = await batch_of(pair, 3, lifecycle="workflow", expire_after_ms=1_000)
    free = await pair.submit("workflow", expire_after_ms=1_000)
    [back] = (await batch.do("retry", 1)).versions
    await batch.look()
    pair.database.pass_ms(1_000)
    found = await pair.other.upkeep.expired(9)
    assert {job.id for job in found} == {back, free.id}, "who is held expires, or who waits does not"
    for job in found:
        path, move = settle.expired(pair.store.tables["workflow"], job)
        change = Change(pair.store.tables["workflow"], path, "engine", [move])
        assert (await pair.store.jobs.apply([change])).refused == []
    over = (await pair.job(back)).outcome
    await batch.are({1: ended("expired", outcome=over)}, "an expiry takes the neighbours of who has expired")
    assert batch.whys((await batch.end(0, 1, 2)).refused) == {1: "stale"}
    assert (await pair.job(free.id)).finished_at_ms == await pair.store.now_ms()


async def one_that_may_not_stand_still_expires_while_it_is_held(pair: Pair) -> None:
    table, ms = pair.store.tables["pipeline"], 7_200_000
    batch = await batch_of(pair, 3, lifecycle="pipeline", lease_ms=2 * ms)
    later = await batch_of(pair, [pair.spec("pipeline", lease_ms=2 * ms, expire_after_ms=2 * ms)])
    await batch.end(0)
    await batch.look()
    pair.database.pass_ms(ms)
    found = await pair.store.upkeep.expired(9)
    assert sorted(job.id for job in found) == [batch[1].id, batch[2].id], "who has ended expires with its batch"
    path, move = settle.expired(table, batch[1])
    assert (await pair.store.jobs.apply([Change(table, path, "engine", [move])])).refused == []
    assert batch.whys((await batch.end(1, 2)).refused) == {1: "state"}
    over = {2: ended(expires_at_ms=batch[2].expires_at_ms and batch[2].expires_at_ms + ms)}
    await batch.are({1: ended("failed", outcome=move.outcome, expires_at_ms=over[2]["expires_at_ms"]), **over})
    await later.are({})


async def who_is_held_when_its_deadline_passes_comes_back_more_urgent(pair: Pair) -> None:
    now_ms = await pair.store.now_ms()
    flow = pair.spec("flow", state="waiting")
    held, waits, plain = [pair.spec("workflow", parent_id=flow.id, delay_ms=delay) for delay in (0, 50, 60)]
    nodes = [NewNode(spec, spec.id[-4:], Join(), deadlines=((now_ms + 100, -5),)) for spec in (held, waits)]
    await pair.store.graph.submit(flow, [*nodes, NewNode(plain, "plain", Join())], "fail_fast", Ask())
    batch = await rest_of(pair)
    assert [job.id for job in batch.jobs] == [held.id]
    assert await pair.store.upkeep.promote(now_ms + 99, 9) == 0, "a deadline is passed before its time"
    pair.database.pass_ms(100)
    assert await pair.other.upkeep.promote(now_ms + 100, 9) == 2, "of two whose deadline passed one is held"
    assert await pair.store.upkeep.promote(now_ms + 100, 9) == 0, "a deadline passes twice"
    await batch.are({}, "to become more urgent is no change of a job")
    assert (await batch.do("retry", 0)).refused == []
    async with pair.database.open() as fresh:
        order = [(await fresh.jobs.claim(["default"], 1, WORKER))[0].id for _ in range(3)]
    assert (set(order[:2]), order[2]) == ({waits.id, held.id}, plain.id), (
        "who was held when its deadline passed is as urgent as before"
    )


async def nodes_of_several_flows_end_in_one_call(pair: Pair) -> None:
    flows, children, parents = [pair.spec("flow", state="waiting") for _ in range(3)], [], []
    for flow in flows:
        first, second = [pair.spec("workflow", parent_id=flow.id) for _ in range(2)]
        last = pair.spec("workflow", parent_id=flow.id, state="waiting")
        nodes = [NewNode(first, "a", Join()), NewNode(second, "b", Join())]
        ways = NewNode(last, "c", Join(), (first.id, second.id))
        await pair.store.graph.submit(flow, [*nodes, ways], "fail_fast", Ask())
        parents += [first, second]
        children.append(last.id)
    batch = await rest_of(pair)
    assert [job.id for job in batch.jobs] == [spec.id for spec in parents]
    applied = await pair.store.jobs.apply(
        [batch.along([2, 0, 1, 4], "succeed", outcome=RESULT), batch.along([3], "fail")]
    )
    assert applied.refused == []
    types = [[event.type for event in await pair.store.reads.events(child)] for child in children]
    assert types[0] == ["job_submitted", "job_released"], (
        f"both parents ended in one call, and their child was told {types}"
    )
    assert "job_released" not in types[1] + types[2], "a child is released by another flow's nodes"
    states = [(await pair.job(flow.id)).state for flow in flows]
    assert states == ["waiting", "failed", "waiting"], f"flows end by their own nodes, and are {states}"
    assert [job.id for job in (await rest_of(pair, owner=RIVAL)).jobs] == [children[0]]
    assert batch.whys((await batch.end(5, 4)).refused) == {4: "state"}
    assert [job.id for job in (await rest_of(pair)).jobs] == [children[2]], "the last parent releases its child once"


async def each_dead_member_has_its_own_letter(pair: Pair) -> None:
    batch = await batch_of(pair, 3)
    pair.database.pass_ms(10)
    failures = [FAILURE._replace(message=f"no good {n}", code=f"code{n}") for n in range(2)]
    for n, reason in ((1, "timeout"), (0, "parse_error")):
        assert (await pair.end(batch[n], outcome=Fail(failures[n], reason))).refused == []
    await batch.end(2, 1)
    late = await pair.end(batch[2], batch[0], outcome=Fail(failures[1], "timeout"))
    assert batch.whys(late.refused) == {0: "state", 2: "state"}
    letters = {letter.job_id: letter for letter in await pair.store.admin.dead.of([job.id for job in batch.jobs])}
    assert letters.keys() == {batch[0].id, batch[1].id}, "who ended well is among the dead"
    for n, reason in enumerate(("parse_error", "timeout")):
        letter = letters[batch[n].id]
        assert (letter.reason_code, letter.attempts, letter.last_owner) == (reason, 1, WORKER)
        assert f'"no good {n}"' in (letter.last_error or ""), "a letter is about another member"
    assert await pair.store.reads.dead_mismatches() == []


async def one_member_is_removed_and_the_others_stay(pair: Pair) -> None:
    batch = await batch_of(pair, [pair.spec(payload=f'{{"n":{n}}}') for n in range(4)])
    ends = batch.along([2, 0, 1], "succeed", outcome=RESULT, reason="why", payload='{"n":1}')
    await pair.store.jobs.apply([ends])
    await Sealer(pair.store).seal_all()
    before = {job.id: (await pair.dump(job)) for job in batch.jobs}
    record = await pair.other.upkeep.prune([batch[1].id, batch[3].id])
    assert record is not None
    assert (record.jobs, record.events) == (1, 4), "another than the one that is over was removed"
    purged = await pair.other.upkeep.purge_payloads([batch[2].id])
    assert purged is not None
    assert (purged.jobs, purged.events) == (1, 4)
    assert await pair.dump(batch[1]) == [(None, [], [])], "something of a removed job is left"
    for number in (0, 3):
        assert await pair.dump(batch[number]) == before[batch[number].id], "a neighbour of who was removed has changed"
    bare = await pair.job(batch[2].id)
    assert (bare.payload, bare.outcome, bare.state) == (None, None, "succeeded")
    told_of = [(event.reason, event.payload) for event in await pair.store.reads.events(batch[2].id)]
    assert told_of == [(None, None)] * 3 + [("why", None)], f"of what was purged the log says {told_of}"
    left = {event.job_id for event in await pair.store.reads.log(0, 99)}
    assert left == {job.id for job in batch.some(0, 2, 3)}
    await pair.audited()
    pair.database.pass_ms(LEASE_MS)
    await pair.lose(await pair.job(batch[3].id))
    assert (await pair.job(batch[3].id)).losses == 1


CHECKS: tuple[Check, ...] = (
    a_member_keeps_what_it_makes_whatever_its_neighbours_do,
    a_key_passes_on_when_its_member_ends,
    a_limit_lets_in_as_many_as_have_left,
    what_waits_expires_beside_what_is_held,
    one_that_may_not_stand_still_expires_while_it_is_held,
    who_is_held_when_its_deadline_passes_comes_back_more_urgent,
    nodes_of_several_flows_end_in_one_call,
    each_dead_member_has_its_own_letter,
    one_member_is_removed_and_the_others_stay,
)
