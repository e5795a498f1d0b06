"""Members of one claim go different ways: cancelled, tried again, handed back, dead-lettered, and several steps on."""

from __future__ import annotations

from holdfast.kernel.decisions import cancel, hasten, resume
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Spec
from holdfast.kernel.move import Change, Move, move
from holdfast.kernel.outcome import Cancelled, Fail, Outcome, Retry
from holdfast.kernel.settle import settle
from holdfast.store.port import Ask, VersionError
from holdfast.testing.store_conformance.batch import RESULT, Fields, Members, back, batch_of, ended, now, rest_of, up
from holdfast.testing.store_conformance.pair import FAILURE, RIVAL, WORKER, Check, Pair, refused

STARTED: Fields = {"state": "running", "version": up, "changed_at_ms": now, "started_at_ms": now}


def down(count: int, _: int) -> int:
    return count - 1


async def a_member_is_cancelled_while_its_neighbours_finish(pair: Pair) -> None:
    batch, free = await batch_of(pair, 5), await pair.submit()
    pair.database.pass_ms(10)
    for version in (batch[1].version - 1, batch[1].version + 1):
        with refused(VersionError):
            ask = Ask("ann", versions=frozenset({version}))
            await pair.other.jobs.change([batch[1].id], cancel("enough", "hard"), ask)
    ask = Ask("ann", versions=frozenset({batch[1].version, free.version}))
    done = await pair.other.jobs.change([batch[1].id, free.id], cancel("enough", "hard"), ask)
    assert done.moved == [batch[1].id, free.id]
    await batch.are({1: ended("cancelled")}, "a cancel takes the neighbours of who is cancelled")
    assert (await pair.job(free.id)).state == "cancelled"
    assert batch.whys((await batch.end(0, 1, 2)).refused) == {1: "state"}, "a result comes after the cancel"
    await batch.are({0: ended(), 2: ended()}, "a cancel keeps the neighbours from their ends")
    assert (await batch.do("cancel", 3, owner=None, store=pair.other)).refused == []
    await batch.are({3: ended("cancelled")}, "a change without an owner asks for no lease")
    assert batch.whys((await batch.end(4, 3)).refused) == {3: "state"}
    await batch.are({4: ended()})
    assert await pair.claimed() == [], "a job that was cancelled is given out"


async def a_member_is_asked_to_stop_and_its_neighbours_are_not(pair: Pair) -> None:
    batch = await batch_of(pair, 4)
    await pair.other.jobs.change([batch[1].id], cancel("enough"), Ask())
    await batch.are({1: {"cancel_requested": "soft: enough"}}, "all are asked to stop for one")
    asked = await pair.store.jobs.request_cancel(batch.leases(2, 1), "hard")
    assert sorted(asked) == [batch[1].id, batch[2].id]
    await batch.are({1: {"cancel_requested": "hard"}, 2: {"cancel_requested": "hard"}})
    asked = await pair.store.jobs.request_cancel(batch.leases(1, 3), "soft: later")
    assert sorted(asked) == [batch[1].id, batch[3].id]
    await batch.are({3: {"cancel_requested": "soft: later"}}, "who was asked hard is asked softly by its neighbour's")
    await pair.end(batch[1], outcome=Cancelled("enough"))
    await batch.end(2, 0)
    await batch.are({0: ended(), 1: ended("cancelled"), 2: ended()}, "who was asked to stop may end well")
    assert await pair.store.jobs.request_cancel(batch.leases(*range(4)), "hard") == [batch[3].id], (
        "who has left its batch is asked to stop"
    )


async def members_are_tried_again_dead_lettered_and_handed_back_in_one_call(pair: Pair) -> None:
    batch = await batch_of(pair, 6)
    pair.database.pass_ms(10)
    outcomes: dict[int, Outcome] = {
        0: Retry(FAILURE, 500),
        1: Retry(FAILURE, 2_000),
        2: Retry(FAILURE, 0),
        3: Fail(FAILURE, "timeout"),
    }
    settled = {number: settle(DURABLE, batch[number], outcome) for number, outcome in outcomes.items()}
    again = Change(DURABLE, settled[0].path, WORKER, [settled[n].move for n in (2, 0, 1)], WORKER)
    dead = Change(DURABLE, settled[3].path, WORKER, [settled[3].move], WORKER)
    applied = await pair.store.jobs.apply([again, dead, batch.along([4], "hand_back")])
    assert (sorted(applied.versions), applied.refused) == ([job.id for job in batch.some(*range(5))], [])
    failed = settled[0].move.outcome
    await batch.are(
        {
            0: back(delay_ms=500, outcome=failed),
            1: back(delay_ms=2_000, outcome=failed),
            2: back(outcome=failed),
            3: ended("dead_lettered", outcome=settled[3].move.outcome),
            4: back(tries=down),
        }
    )
    [letter] = await pair.store.reads.dead()
    assert letter[0] == batch[3].id, "another than the member that failed is a dead letter"
    assert (letter.attempts, letter.last_owner, letter.last_lease_expires_at_ms) == (1, WORKER, batch[3].lease_until_ms)
    for ms, numbers in ((0, [2, 4]), (499, []), (1, [0]), (1_499, []), (1, [1])):
        pair.database.pass_ms(ms)
        due = await rest_of(pair, owner=RIVAL)
        assert batch.numbers(job.id for job in due.jobs) == numbers, "a delay is its member's own"
    assert (await batch.end(5)).refused == [], "the last of a batch loses its lease with the others"


async def one_that_waits_is_hastened_alone(pair: Pair) -> None:
    batch = await batch_of(pair, 3)
    await pair.end(batch[0], batch[1], outcome=Retry(FAILURE, 60_000))
    await batch.look()
    pair.database.pass_ms(10)
    await pair.other.jobs.change([batch[1].id], lambda stands: hasten(stands, "now"), Ask())
    await batch.are({1: back()}, "others than the one that is hastened become due")
    assert [job.id for job in (await rest_of(pair, owner=RIVAL)).jobs] == [batch[1].id]


async def some_start_and_some_are_handed_back(pair: Pair) -> None:
    batch = await batch_of(pair, 4, start=False)
    assert {job.started_at_ms for job in batch.jobs} == {None}, "who was only assigned has started"
    pair.database.pass_ms(10)
    assert (await batch.do("start", 2, 0)).refused == []
    await batch.are({0: STARTED, 2: STARTED}, "one starts with its neighbours, or gives up its lease by it")
    assert (await batch.do("hand_back", 1)).refused == []
    await batch.are({1: back(tries=down)}, "one is handed back with its neighbours")
    running = Members(pair, [await pair.job(job.id) for job in batch.jobs])
    assert batch.whys((await running.end(0)).refused) == {}
    on = batch.along([3, 2], "start")
    applied = await pair.store.jobs.apply([on, running.along([2], "succeed", outcome=RESULT)])
    assert batch.whys(applied.refused) == {2: "state"}, "one starts twice"
    await batch.are({0: ended(), 2: ended(), 3: STARTED})


async def who_is_started_again_has_started_then(pair: Pair) -> None:
    batch = await batch_of(pair, 3, start=False)
    await batch.do("start", 0, 1)
    running = Members(pair, [await pair.job(job.id) for job in batch.jobs])
    assert (await running.do("retry", 0)).refused == []
    pair.database.pass_ms(10)
    [again] = (await rest_of(pair, start=False)).jobs
    pair.database.pass_ms(10)
    both = Members(pair, [again, batch[2]])
    await both.look()
    assert (await both.do("start", 0, 1)).refused == []
    await both.are({0: STARTED, 1: STARTED}, "one has started when it did in its first attempt")
    assert (await pair.job(batch[1].id)).started_at_ms == running[1].started_at_ms


async def halves_of_a_batch_take_paths_of_several_steps(pair: Pair) -> None:
    batch = await batch_of(pair, 6, start=False)
    pair.database.pass_ms(10)
    well = batch.along([4, 0, 2], "start", "succeed", outcome=RESULT)
    again = batch.along([1, 3], "start", "retry", delay_ms=500, payload='{"delay_ms":500}', reason="later")
    applied = await pair.other.jobs.apply([well, again])
    assert (set(applied.versions.values()), applied.refused) == ({4}, []), "a path of two steps is two versions"
    over: Fields = ended(version=4, started_at_ms=now)
    later: Fields = back(version=4, delay_ms=500, started_at_ms=now)
    await batch.are({0: over, 2: over, 4: over, 1: later, 3: later}, "the halves are mixed up")
    for number, end in {0: "job_succeeded", 3: "job_retry_scheduled"}.items():
        events = await pair.store.reads.events(batch[number].id)
        seen = [(event.seq, event.type, event.from_state, event.attempt) for event in events[1:]]
        last_attempt = 1 if number == 0 else 2
        wanted = [(2, "job_claimed", "queued", 1), (3, "job_started", "assigned", 1), (4, end, "running", last_attempt)]
        assert seen == wanted, f"of member {number} the log says {seen}"
        assert [event.reason for event in events[2:]] == [None if number == 0 else "later"] * 2
        assert events[2].payload is None, "what is recorded belongs to the last step of a path"
    await pair.store.jobs.apply([batch.along([5], "start", "hand_back")])
    attempts = [event.attempt for event in await pair.store.reads.events(batch[5].id)]
    assert attempts == [1, 1, 1, 2], f"the last step opens an attempt, and attempts are {attempts}"


def mixed(pair: Pair) -> list[Spec]:
    """Of each lifecycle two, in other queues and priorities, of other tasks and leases, in no order."""
    wishes = [
        ("durable", "left", 0, 1_000),
        ("workflow", "right", 5, 2_000),
        ("pipeline", "left", -3, 60_000),
        ("sandbox", "right", 0, 1_000),
        ("crawl", "left", 5, 30_000),
        ("durable", "right", 0, 60_000),
        ("workflow", "left", 0, 1_000),
        ("durable", "left", 0, 5_000),
    ]
    return [
        pair.spec(lifecycle, queue=queue, priority=priority, lease_ms=lease_ms, task=f"{lifecycle}{lease_ms}")
        for lifecycle, queue, priority, lease_ms in wishes
    ]


async def a_batch_mixes_lifecycles_queues_priorities_and_leases(pair: Pair) -> None:
    specs = mixed(pair)
    batch = await batch_of(pair, specs)
    for job, spec in zip(batch.jobs, specs, strict=True):
        asked = (spec.lifecycle, spec.task, spec.queue, spec.priority, spec.lease_ms)
        assert (job.lifecycle, job.task, job.queue, job.priority, job.lease_ms) == asked
        until_ms = await pair.store.now_ms() + spec.lease_ms
        assert (job.state, job.lease_owner, job.lease_until_ms) == ("running", WORKER, until_ms), "a lease is another's"
    pair.database.pass_ms(10)
    paths = {"durable": [7, 0], "workflow": [1], "pipeline": [2], "sandbox": [3], "crawl": [4]}
    changes = [batch.along(numbers, "succeed", outcome=RESULT) for numbers in paths.values()]
    wrong = Change(WORKFLOW, (WORKFLOW.row("running", "succeed"),), WORKER, [Move(batch[5].id, 1)], WORKER)
    applied = await pair.store.jobs.apply([*changes, wrong])
    assert batch.whys(applied.refused) == {5: "state"}, "a job takes a row of another's lifecycle"
    await batch.are({n: ended(expires_at_ms=_expiry) for numbers in paths.values() for n in numbers})
    kinds = move(DURABLE, batch.some(5), "retry", actor=WORKER, owner=WORKER)
    kinds += move(WORKFLOW, batch.some(6), "retry", actor=WORKER, owner=WORKER)
    await pair.other.jobs.apply(kinds)
    await batch.are({5: back(), 6: back("retry_pending")}, "each goes back as its own lifecycle says")


def _expiry(expires_at_ms: int | None, now_ms: int) -> int | None:
    """Only a pipeline has one here: it may stand still for two hours, from its last change on."""
    return None if expires_at_ms is None else now_ms + 7_200_000


async def a_member_that_was_cancelled_comes_back_in_another_batch(pair: Pair) -> None:
    batch = await batch_of(pair, 3, lifecycle="workflow", expire_after_ms=60_000)
    await pair.store.jobs.change([batch[1].id], cancel("enough", "hard"), Ask())
    pair.database.pass_ms(10)
    await batch.look()
    await pair.store.jobs.change([batch[1].id], resume("after all"), Ask())
    waited = (batch[1].expires_at_ms or 0) + 10
    await batch.are({1: back(tries=0, finished_at_ms=None, expires_at_ms=waited)}, "what it lay ended does not count")
    assert batch.whys((await batch.end(1, 0)).refused) == {1: "stale"}
    await batch.are({0: ended()})
    next_batch = await rest_of(pair, owner=RIVAL, store=pair.other)
    assert [(job.id, job.attempt, job.tries) for job in next_batch.jobs] == [(batch[1].id, 2, 1)]
    assert (await next_batch.do("succeed", 0, owner=RIVAL)).refused == []
    await next_batch.are({0: ended(outcome=None)}, "what came back does not end again")
    pair.database.pass_ms(10)
    assert batch.whys((await batch.end(1, 2)).refused) == {1: "stale"}
    await next_batch.are({})


async def a_lease_is_kept_in_another_held_state(pair: Pair) -> None:
    batch = await batch_of(pair, 3, lifecycle="sandbox", start=False, lease_ms=1_000)
    pair.database.pass_ms(500)
    await batch.do("start", 1)
    await batch.are({1: STARTED}, "to go on in another state that is held is no end of a lease, and no renewal")
    pair.database.pass_ms(500)
    running = Members(pair, [await pair.job(batch[1].id)])
    assert [refusal.why for refusal in (await running.end(0)).refused] == ["lease"], "a step has renewed a lease"
    taken = Members(pair, await pair.other.jobs.take_over(["default"], 9, RIVAL))
    states = {job.id: (job.state, job.attempt, job.losses) for job in taken.jobs}
    wanted = {batch[1].id: ("running", 2, 1), batch[0].id: ("assigned", 2, 1), batch[2].id: ("assigned", 2, 1)}
    assert states == wanted, "each is taken over where it stands"
    sources = {event.from_state for event in await pair.store.reads.events_by_type("job_taken_over")}
    assert sources == {"assigned", "running"}


CHECKS: tuple[Check, ...] = (
    a_member_is_cancelled_while_its_neighbours_finish,
    a_member_is_asked_to_stop_and_its_neighbours_are_not,
    members_are_tried_again_dead_lettered_and_handed_back_in_one_call,
    one_that_waits_is_hastened_alone,
    some_start_and_some_are_handed_back,
    who_is_started_again_has_started_then,
    halves_of_a_batch_take_paths_of_several_steps,
    a_batch_mixes_lifecycles_queues_priorities_and_leases,
    a_member_that_was_cancelled_comes_back_in_another_batch,
    a_lease_is_kept_in_another_held_state,
)
