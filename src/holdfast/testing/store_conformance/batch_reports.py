"""Reports about members of one claim: each counts once, under its own fence, whoever it comes from."""

from __future__ import annotations

from holdfast.kernel.decisions import cancel
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.move import Change, Move
from holdfast.kernel.outcome import Fail, Retry
from holdfast.store.port import Applied, Ask, Refusal, Signal
from holdfast.testing.store_conformance.batch import (
    FREE,
    RESULT,
    Members,
    back,
    batch_of,
    ended,
    lost,
    now,
    rest_of,
    up,
)
from holdfast.testing.store_conformance.pair import (
    FAILURE,
    LEASE_MS,
    NOBODY,
    RIVAL,
    WORKER,
    Check,
    Pair,
    together,
)

MEMBERS = 130
"""More than two machine words have bits."""


async def members_end_one_by_one_in_any_order(pair: Pair) -> None:
    batch = await batch_of(pair, 5)
    for numbers in ([3], [4, 1], [0], [2]):
        pair.database.pass_ms(10)
        applied = await batch.end(*numbers)
        assert applied == Applied({batch[n].id: batch[n].version + 1 for n in numbers}, [])
        await batch.are({n: ended() for n in numbers}, "only who was reported has ended")
    assert await pair.store.admin.queues.leases() == [], "something is held of a batch whose members have all ended"


async def a_second_report_of_a_member_is_refused_and_the_rest_of_its_call_counts(pair: Pair) -> None:
    batch = await batch_of(pair, 5)
    await batch.end(0)
    pair.database.pass_ms(10)
    await batch.are({0: ended(changed_at_ms=batch[0].changed_at_ms, finished_at_ms=batch[0].changed_at_ms)})
    assert (await batch.end(2, 0, 1)).refused == [Refusal(batch[0].id, "state", "succeeded", 1)]
    await batch.are({1: ended(), 2: ended()}, "a member is reported twice, and its neighbours of that call end")
    applied = await batch.end(0, 1, 3, store=pair.other)
    assert batch.whys(applied.refused) == {0: "state", 1: "state"}, "to another process a member has ended as well"
    await batch.are({3: ended()})
    assert batch.whys((await batch.end(0, 1, 2, 3, 4)).refused) == dict.fromkeys(range(4), "state")
    await batch.are({4: ended()})
    assert batch.whys((await batch.end(*range(5))).refused) == dict.fromkeys(range(5), "state"), (
        "after the last one has left, a report of a whole batch is refused for each"
    )
    stops = await batch.do("cancel", 3, 0, owner=None, store=pair.other)
    assert batch.whys(stops.refused) == {0: "state", 3: "state"}, "who has ended is cancelled by who needs no lease"
    await batch.are({})


async def of_two_reports_in_one_call_the_first_counts(pair: Pair) -> None:
    batch = await batch_of(pair, 4)
    first, second = batch.along([0, 1], "succeed", outcome=RESULT), batch.along([1, 2, 0], "fail")
    applied = await pair.store.jobs.apply([first, second])
    assert sorted(applied.versions) == [batch[n].id for n in (0, 1, 2)]
    assert batch.whys(applied.refused) == {0: "state", 1: "state"}, "a member ends twice in one call"
    await batch.are({0: ended(), 1: ended(), 2: ended("failed")}, "the second report of a call changes the first's")
    doubled = batch.along([3], "succeed", outcome=RESULT)
    doubled.moves.append(doubled.moves[0])
    assert (await pair.store.jobs.apply([doubled])).versions == {batch[3].id: batch[3].version + 1}
    await batch.are({3: ended()}, "one who stands twice in one list moves once")


async def each_bad_report_is_refused_with_its_why_and_the_good_count(pair: Pair) -> None:
    batch = await batch_of(pair, 9)
    await batch.end(1)
    await pair.store.jobs.change([batch[2].id], cancel("enough", "hard"), Ask())
    await batch.do("retry", 3)
    pair.database.pass_ms(1)
    await batch.do("hand_back", 4)
    await pair.end(batch[5], outcome=Fail(FAILURE, "timeout"))
    [again] = await pair.other.jobs.claim(["default"], 1, WORKER)
    assert (again.id, again.attempt) == (batch[3].id, 2)
    await batch.look()
    pair.database.pass_ms(10)
    fine = batch.along([6, 1, 0, 5, 3, 2, 4], "succeed", outcome=RESULT)
    fine.moves.append(Move(NOBODY, 1))
    early = batch.along([7], "succeed")._replace(moves=[Move(batch[7].id, 2)])
    words = [Signal(job.id, job.attempt, "job_progress", WORKER, "1") for job in batch.jobs]
    applied = await pair.store.jobs.apply([fine, early, batch.along([8], "succeed", owner=RIVAL)], words)
    whys = {refusal.job_id: refusal[1:] for refusal in applied.refused}
    assert whys == {
        batch[1].id: ("state", "succeeded", 1),
        batch[2].id: ("state", "cancelled", 1),
        batch[3].id: ("stale", "running", 2),
        batch[4].id: ("stale", "queued", 2),
        batch[5].id: ("state", "dead_lettered", 1),
        batch[7].id: ("stale", "running", 1),
        batch[8].id: ("owner", "running", 1),
        NOBODY: ("missing", None, None),
    }, f"refusals say {whys}"
    spoken = [n for n, job in enumerate(batch.jobs) if await pair.store.reads.signals(job.id)]
    assert spoken == [0, 6], "words of a report are kept where it took effect, and nowhere else"
    await batch.are({0: ended(), 6: ended()}, "a bad report changes something, or keeps a good one from its effect")
    assert (await pair.end(again)).refused == [], "the next attempt is refused for the last one's report"


async def batches_that_lie_between_each_other_are_not_mixed_up(pair: Pair) -> None:
    specs = [pair.spec(queue=f"q{n % 3}") for n in range(12)]
    await pair.store.jobs.submit(specs)
    owners = [WORKER, RIVAL, WORKER]
    batches = []
    for number, owner in enumerate(owners):
        batches.append(Members(pair, await pair.store.jobs.claim([f"q{number}"], 9, owner)))
        await batches[-1].look()
    first, theirs, third = batches
    assert [job.id for job in theirs.jobs] == [spec.id for spec in specs[1::3]]
    applied = await pair.other.jobs.apply(
        [
            theirs.along([0, 3], "succeed", owner=RIVAL, outcome=RESULT),
            Members(pair, [first[1], theirs[1], third[1]]).along([0, 1, 2], "fail"),
        ]
    )
    assert [(no.job_id, no.why) for no in applied.refused] == [(theirs[1].id, "owner")], "a job is held by another"
    await theirs.are({0: ended(), 3: ended()})
    await first.are({1: ended("failed")})
    await third.are({1: ended("failed")})


async def a_member_is_finished_by_another_process_of_its_owner(pair: Pair) -> None:
    batch = await batch_of(pair, 3)
    pair.database.pass_ms(10)
    failing = batch.end(1, store=pair.other), pair.end(batch[2], outcome=Fail(FAILURE), store=pair.other)
    assert [applied.refused for applied in await together(*failing)] == [[], []]
    failed = (await pair.job(batch[2].id)).outcome
    await batch.are(
        {1: ended(), 2: ended("failed", outcome=failed)}, "the owner's name is what counts, not its process"
    )
    assert (await batch.end(0)).refused == []
    await batch.are({0: ended()})


async def a_fence_that_is_seen_again_is_over(pair: Pair) -> None:
    batch = await batch_of(pair, 3)
    first, second = [await pair.end(batch[1], outcome=Retry(FAILURE, delay_ms=0)) for _ in range(2)]
    assert (first.refused, batch.whys(second.refused)) == ([], {1: "stale"}), "one attempt is tried again twice"
    outcome = (await pair.job(batch[1].id)).outcome
    await batch.are({1: back(outcome=outcome)})
    theirs = await rest_of(pair, owner=RIVAL, store=pair.other)
    assert [(job.id, job.attempt) for job in theirs.jobs] == [(batch[1].id, 2)]
    for _ in range(2):
        applied = await batch.end(0, 1, 2)
        assert (1, "stale") in batch.whys(applied.refused).items(), "a report of the last attempt ends the next one"
        await theirs.are({})
    assert await pair.store.jobs.renew(WORKER, batch.leases(1)) == [batch[1].id], "a fence that is over is renewed"
    await pair.store.jobs.let_go(WORKER, batch.leases(1))
    assert await pair.store.jobs.request_cancel(batch.leases(1), "hard") == [], "a fence that is over is asked to stop"
    await theirs.are({}, "what comes under the last fence reaches who has the next")
    await theirs.do("retry", 0, owner=RIVAL)
    mine = await rest_of(pair)
    assert batch.whys((await batch.end(1)).refused) == {1: "stale"}, "its own last report ends a later attempt of its"
    await mine.are({})
    assert (await mine.end(0)).refused == []


async def a_repeat_under_an_op_id_knows_each_member(pair: Pair) -> None:
    await pair.store.jobs.submit([pair.spec() for _ in range(4)])
    batch = Members(pair, await pair.store.jobs.claim(["default"], 9, WORKER, op_id="claim"))
    await batch.end(2)
    await batch.look()
    change = batch.along([1, 2], "succeed", outcome=RESULT)
    first = await pair.store.jobs.apply([change], op_id="apply")
    assert batch.whys(first.refused) == {2: "state"}
    await batch.are({1: ended()})
    assert await pair.other.jobs.apply([change], op_id="apply") == first, "a repeat is answered otherwise"
    await batch.are({}, "a repeat has a second effect")
    held = await pair.store.jobs.claim(["default"], 9, WORKER, op_id="claim")
    assert sorted(held) == batch.some(0, 3), "a repeated claim gives out who has ended, or less than is still held"


async def a_long_batch_is_as_exact_as_a_short_one(pair: Pair) -> None:
    batch = await batch_of(pair, MEMBERS)
    odd, even = range(1, MEMBERS, 2), range(0, MEMBERS, 2)
    assert (await batch.end(*reversed(odd))).refused == []
    await batch.are({n: ended() for n in odd})
    assert batch.whys((await batch.end(*range(MEMBERS - 4, MEMBERS))).refused) == {
        MEMBERS - 3: "state",
        MEMBERS - 1: "state",
    }
    await batch.are({MEMBERS - 4: ended(), MEMBERS - 2: ended()})
    pair.database.pass_ms(LEASE_MS)
    left = even[:-2]
    assert batch.numbers(sorted(job.id for job in await pair.store.upkeep.lost(MEMBERS))) == list(left)
    await pair.store.jobs.apply([batch.along(left, "lose", owner=None)])
    await batch.are({n: lost() for n in left})


async def what_is_recorded_goes_to_its_member(pair: Pair) -> None:
    batch = await batch_of(pair, 6)
    moves = {
        4: Move(batch[4].id, 1, reason="four", payload='{"n":4}', outcome='{"result":4}'),
        0: Move(batch[0].id, 1),
        5: Move(batch[5].id, 1, cause="five", outcome='{"result":"é"}'),
        2: Move(batch[2].id, 1, reason="", payload="{}"),
        1: Move(batch[1].id, 1, reason="one", cause="1", payload='{"n":1}', outcome='{"result":null}'),
    }
    await pair.store.jobs.apply(
        [Change(DURABLE, (DURABLE.row("running", "succeed"),), WORKER, list(moves.values()), WORKER)]
    )
    await batch.are({n: ended(outcome=move.outcome) for n, move in moves.items()}, "outcomes are mixed up")
    for number, move in moves.items():
        last = (await pair.other.reads.events(batch[number].id))[-1]
        recorded = (last.reason, last.cause, last.payload)
        assert recorded == (move.reason, move.cause, move.payload), f"member {number} is told {recorded}"
        assert (last.digest is None) is (move.outcome is None), "an event binds another's outcome"


async def two_steps_of_one_call_follow_each_other(pair: Pair) -> None:
    batch = await batch_of(pair, 3, start=False)
    pair.database.pass_ms(10)
    running = [job._replace(state="running") for job in batch.some(1, 2)]
    on = Members(pair, running).along([0, 1], "succeed", outcome=RESULT)
    applied = await pair.store.jobs.apply([batch.along([0, 1], "start"), on])
    assert applied.versions == {batch[0].id: 3, batch[1].id: 4}, "the last version of each is told"
    assert batch.whys(applied.refused) == {2: "state"}, "one ends well that was not started"
    started = {"state": "running", "version": up, "changed_at_ms": now, "started_at_ms": now}
    await batch.are({0: started, 1: {**ended(version=4), "started_at_ms": now, **FREE}})


CHECKS: tuple[Check, ...] = (
    members_end_one_by_one_in_any_order,
    a_second_report_of_a_member_is_refused_and_the_rest_of_its_call_counts,
    of_two_reports_in_one_call_the_first_counts,
    each_bad_report_is_refused_with_its_why_and_the_good_count,
    batches_that_lie_between_each_other_are_not_mixed_up,
    a_member_is_finished_by_another_process_of_its_owner,
    a_fence_that_is_seen_again_is_over,
    a_repeat_under_an_op_id_knows_each_member,
    a_long_batch_is_as_exact_as_a_short_one,
    what_is_recorded_goes_to_its_member,
    two_steps_of_one_call_follow_each_other,
)
