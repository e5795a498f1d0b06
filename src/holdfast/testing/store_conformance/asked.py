"""What is asked for from outside: changes, once and told as facts; dead letters, schedules, pauses and flows."""

from __future__ import annotations

from holdfast.kernel.decisions import cancel, hasten, resume
from holdfast.kernel.errors import NotAllowedError, NotFoundError
from holdfast.kernel.graph.dag import Join
from holdfast.kernel.job import Job
from holdfast.kernel.outcome import Fail
from holdfast.store.port import (
    Ask,
    Facts,
    Lease,
    MismatchError,
    NewNode,
    Pause,
    ScheduleRow,
    Store,
    VersionError,
    Wanted,
)
from holdfast.systems.flow.commands import retry
from holdfast.testing.store_conformance.pair import FAILURE, NOBODY, RACES, WORKER, Check, Pair, refused, together


async def a_cancel_takes_what_is_free_and_asks_who_holds_the_rest(pair: Pair) -> None:
    held = await pair.running()
    free = await pair.submit()
    done = await pair.other.jobs.change([free.id, held.id], cancel("enough"), Ask("ann"))
    assert done.moved == [free.id, held.id]
    assert [done.jobs[job.id].state for job in (free, held)] == ["cancelled", "running"]
    [stand] = await pair.store.jobs.stand([held.id])
    assert (stand.state, stand.attempt, stand.asked) == ("running", 1, "soft: enough"), (
        "its worker is not asked to stop"
    )
    assert await pair.store.jobs.renew(WORKER, [Lease(held.id, 1)]) == [], "it was asked, and lost its lease"
    await pair.other.jobs.change([held.id], cancel("now", "hard"), Ask("ann"))
    assert [refusal.why for refusal in (await pair.end(held)).refused] == ["state"], "a result comes after the cancel"
    last = (await pair.store.reads.events(held.id))[-1]
    assert (last.type, last.actor, last.reason) == ("job_cancelled", "ann", "now")


async def a_cancelled_job_is_resumed_and_one_that_waits_is_hastened(pair: Pair) -> None:
    stopped, late = await pair.submit("workflow"), await pair.submit("workflow", delay_ms=60_000)
    await pair.store.jobs.change([stopped.id], cancel("enough"), Ask())
    assert await pair.claimed() == []
    await pair.store.jobs.change([stopped.id], resume("after all"), Ask())
    await pair.store.jobs.change([late.id], lambda stands: hasten(stands, "now"), Ask())
    again = await pair.store.jobs.change([late.id], lambda stands: hasten(stands, "now"), Ask())
    assert again.moved == [], "what is due already stays as it is"
    assert sorted(await pair.claimed()) == [stopped.id, late.id]


async def what_is_refused_of_several_is_told(pair: Pair) -> None:
    over, free = await pair.running(), await pair.submit()
    await pair.end(over)
    done = await pair.store.jobs.change([over.id, NOBODY, free.id], cancel("enough"), Ask())
    assert (done.moved, sorted(done.refused)) == ([free.id], sorted([over.id, NOBODY])), "one refusal stops the others"
    assert "succeeded" in done.refused[over.id].state
    with refused(NotAllowedError):
        await pair.store.jobs.change([over.id], cancel("enough"), Ask())
    with refused(NotFoundError):
        await pair.store.jobs.change([NOBODY], cancel("enough"), Ask())


async def a_change_is_decided_while_nobody_else_can_move_the_job(pair: Pair) -> None:
    for _ in range(RACES):
        job = await pair.submit()

        async def is_first(store: Store, job_id: str = job.id) -> bool:
            try:
                await store.jobs.change([job_id], cancel("enough"), Ask())
            except NotAllowedError:
                return False
            return True

        assert sorted(await pair.both(is_first)) == [False, True], "one of two that cancel a job is too late"


async def a_change_may_insist_on_a_version(pair: Pair) -> None:
    job = await pair.submit()
    before = await pair.dump(job)
    with refused(VersionError):
        await pair.store.jobs.change([job.id], cancel("enough"), Ask(versions=frozenset({job.version + 1})))
    assert await pair.dump(job) == before
    done = await pair.store.jobs.change([job.id], cancel("enough"), Ask(versions=frozenset({job.version})))
    assert done.moved == [job.id]


async def a_request_that_is_repeated_is_told_the_same(pair: Pair) -> None:
    spec = pair.spec()
    made = await pair.store.jobs.make([spec], Ask(op_id="make", digest="a"))
    assert (made.one.job_id, made.one.created, made.jobs[spec.id].state) == (spec.id, True, "queued")
    ask = Ask(op_id="change", digest="a", note="by ann")
    done = await pair.store.jobs.change([spec.id], cancel("enough"), ask)
    assert await pair.other.jobs.change([spec.id], cancel("enough"), ask) == done.with_(again=True)
    assert await pair.other.jobs.make([pair.spec()], Ask(op_id="make", digest="a")) == made.with_(again=True)
    assert await pair.store.reads.totals() == (1, 1), "a repeat makes one more job"
    with refused(MismatchError):
        await pair.other.jobs.change([spec.id], cancel("enough"), ask._replace(digest="b"))
    answers = pair.store.admin.answers
    assert await answers.find(ask) == done.with_(again=True), "whoever remembered it"
    mine = ask._replace(op_id="several")
    assert await answers.find(mine) is None
    await answers.keep(mine, Facts(answer={"a": "1"}))
    kept = await pair.other.admin.answers.keep(mine, Facts(answer={"a": "2"}))
    assert kept.answer == {"a": "1"}, "the first that was kept counts"


async def a_dead_letter_is_replayed_once_or_discarded(pair: Pair) -> None:
    first, second = await pair.running(), await pair.running()
    await pair.end(first, second, outcome=Fail(FAILURE, "timeout"))
    dead = pair.store.admin.dead
    page = await dead.page(Wanted(reason_code="timeout"), limit=1)
    rest = await dead.page(Wanted(reason_code="timeout"), limit=1, cursor=page.next_cursor)
    assert {letter.job_id for letter in page.items + rest.items} == {first.id, second.id}
    assert [group.letters for group in await dead.groups()] == [2], "letters that failed alike are a group"
    answers = await pair.both(lambda store: store.admin.dead.replay({first.id: pair.spec(), NOBODY: pair.spec()}))
    assert {len(answer) for answer in answers} == {1}, "there is a replay without a letter"
    [new] = {answer[first.id].job_id for answer in answers}
    assert sorted(answer[first.id].created for answer in answers) == [False, True], "it was replayed twice"
    assert await dead.discard([first.id, second.id], "known") == [second.id], "what was replayed is open no more"
    letters = {letter.job_id: letter for letter in await dead.of([first.id, second.id])}
    assert (letters[first.id].replayed_as, letters[second.id].replayed_as) == (new, None)
    assert await dead.counts() == (0, 2), "a resolved letter stays on record"


async def a_tick_of_a_schedule_is_taken_once(pair: Pair) -> None:
    now_ms, schedules = await pair.store.now_ms(), pair.store.admin.schedules
    row = ScheduleRow("hourly", "task", "{}", "0 * * * *", "UTC", "one", False, now_ms, now_ms + 1_000, "{}")
    await schedules.keep(row)
    assert await schedules.due(now_ms, 9) == []
    pair.database.pass_ms(1_000)
    [due] = await pair.other.admin.schedules.due(now_ms + 1_000, 9)
    times = (due.next_tick_ms, due.next_tick_ms + 1_000)
    taken = await pair.both(lambda store: store.admin.schedules.take(due, *times, [pair.spec()]))
    assert taken.count(None) == 1, f"two took one tick: {taken}"
    assert len(await pair.claimed()) == 1, "a tick is one job"
    moved = await schedules.get("hourly")
    assert moved == row._replace(last_tick_ms=now_ms + 1_000, next_tick_ms=now_ms + 2_000)
    assert await schedules.pause("hourly")
    assert await schedules.due(now_ms + 9_000, 9) == [], "a paused schedule ticks"
    assert await schedules.drop("hourly")
    assert await schedules.list() == []


async def a_pause_is_known_to_all_until_it_ends(pair: Pair) -> None:
    began_ms, queues = await pair.store.now_ms(), pair.other.admin.queues
    await pair.submit()
    await pair.store.admin.queues.pause("default", "maintenance")
    pair.database.pass_ms(1_000)
    await queues.pause("default", "maintenance")
    assert (await queues.pauses())["default"] == Pause("default", began_ms, "maintenance"), "it is paused since it was"
    assert (await queues.depths())["default"].queued == 1
    assert [await queues.unpause("default") for _ in range(2)] == [True, False]
    assert await pair.store.admin.queues.pauses() == {}


async def drawn(pair: Pair) -> tuple[str, list[Job]]:
    """A flow of two nodes, and one that comes after both; its id, and the two, which run."""
    flow = pair.spec("flow", state="waiting")
    first, second = [pair.spec("workflow", parent_id=flow.id) for _ in range(2)]
    last = pair.spec("workflow", parent_id=flow.id, state="waiting")
    nodes = [
        NewNode(first, "a", Join()),
        NewNode(second, "b", Join()),
        NewNode(last, "c", Join(), (first.id, second.id)),
    ]
    made = await pair.store.graph.submit(flow, nodes, "fail_fast", Ask())
    assert made.one.created
    running = await pair.store.jobs.claim(["default"], 9, WORKER)
    assert {job.id for job in running} == {first.id, second.id}, "a node is claimed before its parents have ended"
    return flow.id, running


async def a_child_is_released_once_and_a_flow_ends_with_its_last(pair: Pair) -> None:
    for _ in range(RACES):
        flow_id, (first, second) = await drawn(pair)
        await together(pair.end(first), pair.end(second, store=pair.other))
        [last] = await pair.other.jobs.claim(["default"], 9, WORKER)
        types = [event.type for event in await pair.store.reads.events(last.id)]
        assert types.count("job_released") == 1, f"both parents ended at once, and their child was told {types}"
        parents, _ = await pair.store.graph.inputs(last.id, None)
        assert {parent.name: parent.outcome for parent in parents} == dict.fromkeys("ab", '{"result":1}')
        assert (await pair.job(flow_id)).state == "waiting"
        await pair.end(last)
        assert (await pair.job(flow_id)).state == "succeeded"
        row = await pair.store.graph.flow(flow_id)
        assert (row.nodes, row.open, row.failed, row.cancelled) == (3, 0, 0, 0)


async def a_flow_that_is_cancelled_while_its_nodes_end_is_over(pair: Pair) -> None:
    for _ in range(RACES):
        flow_id, running = await drawn(pair)
        stopping = pair.other.jobs.change([flow_id], cancel("enough", "hard"), Ask())
        await together(stopping, *(pair.end(job) for job in running))
        states = sorted(node.state for node in await pair.store.graph.nodes(flow_id))
        assert not {"waiting", "queued", "running"}.intersection(states), f"its nodes are {states}"
        assert (await pair.job(flow_id)).finished_at_ms is not None, f"it goes on, and its nodes are {states}"


async def a_flow_is_cancelled_and_resumed_as_a_whole(pair: Pair) -> None:
    flow_id, running = await drawn(pair)
    done = await pair.other.jobs.change([flow_id], cancel("enough", "hard"), Ask())
    assert done.flows[flow_id].open == 0
    states = {node.state for node in await pair.store.graph.nodes(flow_id)}
    assert (states, (await pair.job(flow_id)).state) == ({"cancelled"}, "cancelled")
    assert len((await pair.end(*running)).refused) == 2, "a node ends well in a flow that was cancelled"
    with refused(NotAllowedError):
        await pair.store.jobs.change([running[0].id], resume("alone"), Ask())
    await pair.store.jobs.change([flow_id], resume("after all"), Ask())
    assert sorted(await pair.claimed()) == sorted(job.id for job in running), "its nodes do not go on with it"


async def a_flow_that_stopped_is_gone_on_with_once(pair: Pair) -> None:
    flow_id, (first, second) = await drawn(pair)
    with refused(NotAllowedError):
        await retry.retry(pair.store, flow_id)
    await pair.end(first)
    await pair.end(second, outcome=Fail(FAILURE))
    assert (await pair.job(flow_id)).state == "failed"
    answers = await pair.both(lambda store: retry.retry(store, flow_id))
    [new_id] = {answer.job_id for answer in answers}
    assert sorted(answer.created for answer in answers) == [False, True]
    names = {node.name: node.state for node in await pair.store.graph.nodes(new_id)}
    assert names == {"b": "queued", "c": "waiting"}, f"what ended well is kept, and all else made anew: {names}"
    found = await pair.other.graph.retried_as(await pair.job(flow_id))
    assert found is not None
    assert found.id == new_id


CHECKS: tuple[Check, ...] = (
    a_cancel_takes_what_is_free_and_asks_who_holds_the_rest,
    a_cancelled_job_is_resumed_and_one_that_waits_is_hastened,
    what_is_refused_of_several_is_told,
    a_change_is_decided_while_nobody_else_can_move_the_job,
    a_change_may_insist_on_a_version,
    a_request_that_is_repeated_is_told_the_same,
    a_dead_letter_is_replayed_once_or_discarded,
    a_tick_of_a_schedule_is_taken_once,
    a_pause_is_known_to_all_until_it_ends,
    a_child_is_released_once_and_a_flow_ends_with_its_last,
    a_flow_that_is_cancelled_while_its_nodes_end_is_over,
    a_flow_is_cancelled_and_resumed_as_a_whole,
    a_flow_that_stopped_is_gone_on_with_once,
)
