"""A request that is repeated under its op_id: no second effect, the same answer."""

from __future__ import annotations

import pytest

from holdfast.kernel.errors import DuplicateKeyError
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import Change, Move, move
from holdfast.store.port import Applied, Refusal, Store, Submitted
from tests.store.scenes import FAILURE, WORKER, Clock, assert_all_clean, bring, everything, spec, submit, take

pytestmark = pytest.mark.rule("D06")


async def test_a_repeated_submit_creates_nothing(store: Store, other: Store) -> None:
    specs = [spec(), spec(key="k"), spec(key="k")]
    first = await store.jobs.submit(specs, op_id="op-1")
    before = await everything(store)
    assert await store.jobs.submit(specs, op_id="op-1") == first
    assert await other.jobs.submit([spec(), spec()], op_id="op-1") == first
    assert await everything(store) == before
    assert [answer.created for answer in first] == [True, True, False]


async def test_also_after_the_job_has_moved_on(store: Store, clock: Clock) -> None:
    table = store.tables["durable"]
    one = spec()
    first = await store.jobs.submit([one], op_id="op-1")
    [job] = await store.jobs.claim(["default"], 1, WORKER)
    path = (table.row("running", Command.RETRY),)
    change = Change(table, path, WORKER, [Move(job.id, job.attempt, reason="later")], WORKER)
    answer = await store.jobs.apply([change], op_id="op-2")
    assert answer == Applied({one.id: 4}, [])
    [job] = await store.jobs.claim(["default"], 1, "worker-2")
    await take(store, clock, job, table.row("running", Command.SUCCEED), worker="worker-2")
    clock.advance(3_600_000)
    before = await everything(store)
    assert await store.jobs.submit([one], op_id="op-1") == first == [Submitted(one.id, True)]
    assert await store.jobs.apply([change], op_id="op-2") == answer
    assert await everything(store) == before
    await assert_all_clean(store)


async def test_a_refusal_is_repeated_too(store: Store, clock: Clock) -> None:
    table = store.tables["durable"]
    job = await submit(store)
    change = Change(table, (table.row("running", Command.SUCCEED),), WORKER, [Move(job.id, 1)])
    first = await store.jobs.apply([change], op_id="op")
    assert first == Applied({}, [Refusal(job.id, "state", "queued", 1)])
    await store.jobs.claim(["default"], 1, WORKER)
    # It would be allowed by now; the question was answered before.
    assert await store.jobs.apply([change], op_id="op") == first
    assert await store.jobs.apply([change], op_id="op-2") == Applied({job.id: 4}, [])


async def test_without_an_op_id_a_repeat_is_refused_and_changes_nothing(store: Store, clock: Clock) -> None:
    table = store.tables["durable"]
    job = await bring(store, clock, table, "running")
    change = Change(table, (table.row("running", Command.SUCCEED),), WORKER, [Move(job.id, 1)], WORKER)
    await store.jobs.apply([change])
    before = await everything(store)
    assert await store.jobs.apply([change]) == Applied({}, [Refusal(job.id, "state", "succeeded", 1)])
    assert await everything(store) == before


async def test_a_dead_letter_is_written_once(store: Store, clock: Clock) -> None:
    from holdfast.kernel.settle import dead_letter

    table = store.tables["durable"]
    job = await bring(store, clock, table, "running")
    path, move = dead_letter(table, job, FAILURE, "timeout")
    change = Change(table, path, WORKER, [move], WORKER)
    first = await store.jobs.apply([change], op_id="op")
    assert await store.jobs.apply([change], op_id="op") == first
    assert len(await store.reads.dead()) == 1
    await assert_all_clean(store)


async def test_a_request_that_failed_may_be_repeated(store: Store, clock: Clock) -> None:
    table = store.tables["workflow"]
    holder = await submit(store, "workflow", key="k")
    wanted = [spec("workflow", key="k")]
    with pytest.raises(DuplicateKeyError):
        await store.jobs.submit(wanted, op_id="op")
    await take(store, clock, holder, table.row("queued", Command.CANCEL))
    assert await store.jobs.submit(wanted, op_id="op") == [Submitted(wanted[0].id, True)]


@pytest.mark.rule("D21")
async def test_a_repeated_claim_returns_the_claim_that_won(store: Store, clock: Clock) -> None:
    jobs = [await submit(store) for _ in range(3)]
    first = await store.jobs.claim(["default"], 2, WORKER, op_id="claim-1")
    assert [job.id for job in first] == [job.id for job in jobs[:2]]
    before = await everything(store)
    assert await store.jobs.claim(["default"], 2, WORKER, op_id="claim-1") == first
    assert await everything(store) == before
    [third] = await store.jobs.claim(["default"], 2, WORKER, op_id="claim-2")
    assert third.id == jobs[2].id
    table = store.tables["durable"]
    await store.jobs.apply(move(table, [first[0]], Command.HAND_BACK, actor=WORKER, owner=WORKER))
    assert await store.jobs.claim(["default"], 2, WORKER, op_id="claim-1") == first[1:]
