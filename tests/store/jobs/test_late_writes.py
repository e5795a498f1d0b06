"""A worker that did not renew in time: nothing that it sends changes anything."""

from __future__ import annotations

import pytest

from holdfast.catalog import BUILT_IN
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Command, Lifecycle, Transition
from holdfast.kernel.policy import Lost
from holdfast.kernel.state import LEASED
from holdfast.store.port import Applied, Lease, Refusal, Store
from tests.store.scenes import (
    RIVAL,
    ROWS,
    STATES,
    WORKER,
    WORKER_COMMANDS,
    Clock,
    apply_row,
    assert_clean,
    bring,
    dump,
    fetch,
    name_of_row,
    reap,
)

pytestmark = pytest.mark.rule("D03", "D07")
WORKERS_ROWS = [(t, row) for t, row in ROWS if row.source in LEASED and row.command in WORKER_COMMANDS]
LEASED_STATES = [(t, state) for t, state in STATES if state in LEASED]


async def lapsed(store: Store, clock: Clock, table: Lifecycle, state: str) -> Job:
    """A job whose worker's lease has just run out, to the millisecond, and that nobody has taken."""
    job = await bring(store, clock, table, state)
    assert job.lease_until_ms is not None
    clock.now_ms = job.lease_until_ms
    return job


async def taken_by(store: Store, clock: Clock, table: Lifecycle, state: str, worker: str) -> Job:
    """A job as its first worker knows it; another has it by now, and got as far as that one did."""
    job = await lapsed(store, clock, table, state)
    if table.policies.lost is Lost.TAKE_OVER:
        [now] = await store.jobs.take_over([job.queue], 1, worker)
    else:
        await reap(store)
        [now] = await store.jobs.claim([job.queue], 1, worker, start=state == "running")
    assert (now.id, now.state, now.attempt, now.lease_owner) == (job.id, state, job.attempt + 1, worker)
    return job


def test_every_command_that_a_worker_sends_is_among_the_cases() -> None:
    assert {row.command for _, row in WORKERS_ROWS} == WORKER_COMMANDS


@pytest.mark.parametrize(("table", "row"), WORKERS_ROWS, ids=name_of_row)
async def test_after_its_lease_though_nobody_took_the_job(
    store: Store, clock: Clock, table: Lifecycle, row: Transition
) -> None:
    job = await lapsed(store, clock, table, row.source.value)
    before = await dump(store, job.id)
    applied = await apply_row(store, table, row, job, owner=WORKER, outcome='{"result":1}')
    assert applied == Applied({}, [Refusal(job.id, "lease", row.source, job.attempt)])
    assert await dump(store, job.id) == before
    clock.advance(-1)
    # A millisecond earlier it was in time.
    assert (await apply_row(store, table, row, job, owner=WORKER)).refused == []
    await assert_clean(store, job.id)


@pytest.mark.parametrize("taker", [RIVAL, WORKER], ids=["another", "a-twin-of-the-same-name"])
@pytest.mark.parametrize(("table", "row"), WORKERS_ROWS, ids=name_of_row)
async def test_after_the_job_went_to_another(
    store: Store, clock: Clock, table: Lifecycle, row: Transition, taker: str
) -> None:
    job = await taken_by(store, clock, table, row.source.value, taker)
    before = await dump(store, job.id)
    applied = await apply_row(store, table, row, job, owner=WORKER, outcome='{"result":1}')
    assert applied == Applied({}, [Refusal(job.id, "stale", row.source, job.attempt + 1)])
    assert await dump(store, job.id) == before
    await assert_clean(store, job.id)


@pytest.mark.parametrize("call", ["renew", "let_go"])
@pytest.mark.parametrize(("table", "state"), LEASED_STATES, ids=name_of_row)
async def test_a_lapsed_lease_is_neither_renewed_nor_given_up(
    store: Store, clock: Clock, table: Lifecycle, state: str, call: str
) -> None:
    job = await lapsed(store, clock, table, state)
    clock.advance(5_000)
    before = await dump(store, job.id)
    lease = [Lease(job.id, job.attempt)]
    if call == "renew":
        assert await store.jobs.renew(WORKER, lease) == [job.id]
    else:
        await store.jobs.let_go(WORKER, lease)
    assert await dump(store, job.id) == before


@pytest.mark.parametrize("taker", [RIVAL, WORKER], ids=["another", "a-twin-of-the-same-name"])
@pytest.mark.parametrize(("table", "state"), LEASED_STATES, ids=name_of_row)
async def test_another_workers_lease_is_neither_renewed_nor_given_up(
    store: Store, clock: Clock, table: Lifecycle, state: str, taker: str
) -> None:
    job = await taken_by(store, clock, table, state, taker)
    before = await dump(store, job.id)
    lease = [Lease(job.id, job.attempt)]
    clock.advance(1_000)
    assert await store.jobs.renew(WORKER, lease) == [job.id]
    await store.jobs.let_go(WORKER, lease)
    assert await store.jobs.request_cancel(lease, "hard") == []
    assert await dump(store, job.id) == before


@pytest.mark.parametrize(("table", "row"), WORKERS_ROWS, ids=name_of_row)
async def test_the_fence_without_the_lease_is_not_enough(
    store: Store, clock: Clock, table: Lifecycle, row: Transition
) -> None:
    job = await bring(store, clock, table, row.source.value)
    before = await dump(store, job.id)
    applied = await apply_row(store, table, row, job, owner=RIVAL)
    assert applied == Applied({}, [Refusal(job.id, "owner", row.source, job.attempt)])
    assert await store.jobs.renew(RIVAL, [Lease(job.id, job.attempt)]) == [job.id]
    await store.jobs.let_go(RIVAL, [Lease(job.id, job.attempt)])
    assert await dump(store, job.id) == before


@pytest.mark.rule("S10")
@pytest.mark.parametrize("lifecycle", BUILT_IN)
async def test_a_result_that_comes_after_the_cancel_is_refused(store: Store, clock: Clock, lifecycle: str) -> None:
    table = BUILT_IN[lifecycle]
    job = await bring(store, clock, table, "running")
    assert (await apply_row(store, table, table.row("running", Command.CANCEL), job)).refused == []
    before = await dump(store, job.id)
    applied = await apply_row(store, table, table.row("running", Command.SUCCEED), job, owner=WORKER)
    assert applied == Applied({}, [Refusal(job.id, "state", "cancelled", 1)])
    assert await dump(store, job.id) == before
    assert (await fetch(store, job.id)).lease_owner is None
