"""Leases: renewed from now, lost when they run out, and what becomes of the job."""

from __future__ import annotations

import json

import pytest

from holdfast.catalog import BUILT_IN
from holdfast.kernel import settle
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Failure, Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.move import Change
from holdfast.store.port import Lease, Store
from holdfast.systems.crawl.lifecycle import CRAWL
from holdfast.systems.pipeline.lifecycle import PIPELINE
from holdfast.systems.sandbox.lifecycle import SANDBOX
from tests.store.scenes import (
    RIVAL,
    WORKER,
    Clock,
    assert_all_clean,
    assert_clean,
    bring,
    dump,
    fetch,
    name_of_row,
    reap,
    submit,
)

REQUEUED = {"crawl": "retry_pending", "durable": "queued", "workflow": "retry_pending"}


def lease_end(job: Job) -> int:
    assert job.lease_until_ms is not None
    return job.lease_until_ms


async def crash(store: Store, clock: Clock, times: int) -> None:
    """Workers claim the one job there is and are never heard of again."""
    for _ in range(times):
        [job] = await store.jobs.claim(["default"], 1, WORKER)
        clock.advance(job.lease_ms)
        [_] = await reap(store)


@pytest.mark.rule("D08", "D09")
@pytest.mark.parametrize("lifecycle", BUILT_IN)
async def test_a_renewal_counts_from_now(store: Store, clock: Clock, lifecycle: str) -> None:
    table = BUILT_IN[lifecycle]
    job = await bring(store, clock, table, "running")
    lease = [Lease(job.id, job.attempt)]
    for _ in range(5):
        clock.advance(table.policies.lease_ms // 2)
        assert await store.jobs.renew(WORKER, lease) == []
        renewed = await fetch(store, job.id)
        assert renewed == job._replace(lease_until_ms=clock.now_ms + table.policies.lease_ms)
        assert await store.upkeep.lost(10) == await store.jobs.take_over(["default"], 10, RIVAL) == []
    await assert_clean(store, job.id)


@pytest.mark.rule("D09")
async def test_one_missed_heartbeat_is_forgiven_and_silence_is_not(store: Store, clock: Clock) -> None:
    job = await bring(store, clock, DURABLE, "running")
    lease, beat_ms = [Lease(job.id, job.attempt)], DURABLE.policies.heartbeat_ms
    clock.advance(2 * beat_ms)
    assert await store.upkeep.lost(10) == []
    assert await store.jobs.renew(WORKER, lease) == []
    clock.advance(3 * beat_ms)
    assert [orphan.id for orphan in await store.upkeep.lost(10)] == [job.id]
    assert await store.jobs.renew(WORKER, lease) == [job.id]


async def test_renewals_in_bulk_name_the_lost_ones(store: Store, clock: Clock) -> None:
    jobs = [await bring(store, clock, DURABLE, "running") for _ in range(4)]
    ended = await bring(store, clock, DURABLE, "succeeded")
    await store.jobs.let_go(WORKER, [Lease(jobs[1].id, 1)])
    leases = [Lease(job.id, 1) for job in (*jobs, ended)]
    leases[2] = Lease(jobs[2].id, 9)
    nobody = "01900000-0000-7000-8000-ffffffffffff"
    lost = await store.jobs.renew(WORKER, [*leases, Lease(nobody, 1)])
    assert lost == [jobs[1].id, jobs[2].id, ended.id, nobody]
    assert await store.jobs.renew(WORKER, []) == []


@pytest.mark.rule("D10")
@pytest.mark.parametrize("lifecycle", REQUEUED)
async def test_a_lost_job_goes_on_to_its_next_attempt(store: Store, clock: Clock, lifecycle: str) -> None:
    job = await bring(store, clock, BUILT_IN[lifecycle], "running")
    clock.now_ms = lease_end(job) - 1
    assert await reap(store) == []
    clock.advance(1)
    [back] = await reap(store)
    assert (back.state, back.attempt, back.tries, back.losses) == (REQUEUED[lifecycle], 2, 1, 1)
    assert (back.lease_owner, back.lease_until_ms, back.due_at_ms) == (None, None, clock.now_ms)
    event = (await store.reads.events(job.id))[-1]
    reason = "timeout_soft" if lifecycle == "crawl" else "lease_expired"
    assert (event.type, event.reason, event.actor) == ("job_lease_expired", reason, "reaper")
    [again] = await store.jobs.claim(["default"], 1, RIVAL)
    assert (again.id, again.attempt, again.tries) == (job.id, 2, 2)
    await assert_clean(store, job.id)


@pytest.mark.rule("D10")
async def test_a_job_that_was_only_assigned_is_requeued_too(store: Store, clock: Clock) -> None:
    job = await bring(store, clock, DURABLE, "assigned")
    clock.advance(job.lease_ms)
    [back] = await reap(store)
    assert (back.state, back.attempt, back.losses, back.started_at_ms) == ("queued", 2, 1, None)


@pytest.mark.rule("D10", "D12", "D15", "D16", "D17")
async def test_used_up_tries_dead_letter_it_with_all_that_is_known(store: Store, clock: Clock) -> None:
    job = await submit(store, max_tries=2, correlation_id="c-9")
    await crash(store, clock, 2)
    over = await fetch(store, job.id)
    assert (over.state, over.tries, over.finished_at_ms) == ("dead_lettered", 2, clock.now_ms)
    [dead] = await store.reads.dead()
    assert (dead.job_id, dead.at_ms, dead.resolution) == (job.id, clock.now_ms, None)
    assert (dead.reason_code, dead.stage, dead.attempts) == ("exhausted_retries", "exec", 2)
    assert (dead.last_owner, dead.last_lease_expires_at_ms) == (WORKER, clock.now_ms)
    assert (dead.correlation_id, len(dead.fingerprint)) == ("c-9", 16)
    assert dead.last_error is not None
    error = json.loads(dead.last_error)["error"]
    assert (error["code"], error["context"]) == ("timeout_soft", {"attempt": 2, "worker_id": WORKER})
    assert over.outcome == dead.last_error
    await assert_all_clean(store)


@pytest.mark.rule("D16")
async def test_a_dead_letter_without_a_correlation_id_gets_the_jobs_own(store: Store, clock: Clock) -> None:
    job = await bring(store, clock, DURABLE, "dead_lettered")
    [dead] = await store.reads.dead()
    assert (dead.correlation_id, dead.reason_code) == (job.id, "timeout")


@pytest.mark.rule("D15", "D17")
@pytest.mark.parametrize("stage", ["fetch", "input", "exec", "output", "commit"])
async def test_every_reason_and_every_stage_is_kept(store: Store, clock: Clock, stage: str) -> None:
    reasons = [
        "parse_error",
        "validation_failed",
        "dependency_unavailable",
        "timeout",
        "exhausted_retries",
        "policy_violation",
        "infrastructure_failure",
        "compensation_failed",
    ]
    for reason in reasons:
        job = await bring(store, clock, DURABLE, "running")
        path, move = settle.dead_letter(DURABLE, job, Failure("c", "permanent", "m", {}, stage), reason)
        await store.jobs.apply([Change(DURABLE, path, WORKER, [move], WORKER)])
    dead = await store.reads.dead()
    assert [(one.reason_code, one.stage) for one in reversed(dead)] == [(reason, stage) for reason in reasons]
    assert len(await store.reads.dead(limit=3)) == 3
    await assert_all_clean(store)


@pytest.mark.rule("D12")
async def test_three_crashes_are_enough_whatever_the_tries(store: Store, clock: Clock) -> None:
    job = await submit(store, max_tries=100)
    await crash(store, clock, 3)
    over = await fetch(store, job.id)
    assert (over.state, over.losses) == ("dead_lettered", 2)
    [dead] = await store.reads.dead()
    assert (dead.reason_code, dead.attempts) == ("infrastructure_failure", 3)


@pytest.mark.rule("D12")
@pytest.mark.parametrize("lifecycle", ["crawl", "workflow"])
async def test_where_nothing_is_dead_lettered_a_crashing_job_fails(store: Store, clock: Clock, lifecycle: str) -> None:
    job = await submit(store, lifecycle, max_tries=2)
    await crash(store, clock, 2)
    over = await fetch(store, job.id)
    assert (over.state, await store.reads.dead()) == ("failed", [])
    assert over.outcome is not None
    assert json.loads(over.outcome)["error"]["code"] == "timeout_soft"
    await assert_clean(store, job.id)


@pytest.mark.parametrize(
    ("table", "state"), [(PIPELINE, "running"), (SANDBOX, "assigned"), (SANDBOX, "running")], ids=name_of_row
)
async def test_a_job_is_taken_over_where_it_stands(store: Store, clock: Clock, table: Lifecycle, state: str) -> None:
    job = await bring(store, clock, table, state)
    clock.now_ms = lease_end(job) - 1
    assert await store.jobs.take_over(["default"], 10, RIVAL) == []
    clock.advance(1)
    assert await store.upkeep.lost(10) == await store.jobs.take_over(["another"], 10, RIVAL) == []
    [now] = await store.jobs.take_over(["default"], 10, RIVAL)
    assert (now.id, now.state, now.attempt, now.tries, now.losses) == (job.id, state, 2, 1, 1)
    assert (now.lease_owner, now.lease_until_ms) == (RIVAL, clock.now_ms + job.lease_ms)
    event = (await store.reads.events(job.id))[-1]
    assert (event.type, event.actor, event.reason) == ("job_taken_over", RIVAL, "lease_expired")
    assert await store.jobs.take_over(["default"], 10, WORKER) == []
    await assert_clean(store, job.id)


@pytest.mark.parametrize("table", [PIPELINE, SANDBOX], ids=name_of_row)
async def test_what_crashes_too_often_is_not_taken_over_again(store: Store, clock: Clock, table: Lifecycle) -> None:
    job = await bring(store, clock, table, "running")
    for _ in range(table.policies.crash_budget - 1):
        clock.advance(job.lease_ms)
        assert await store.upkeep.lost(10) == []
        [_] = await store.jobs.take_over(["default"], 10, RIVAL)
    clock.advance(job.lease_ms)
    assert await store.jobs.take_over(["default"], 10, RIVAL) == []
    [over] = await reap(store)
    assert (over.state, over.losses) == ("failed", table.policies.crash_budget - 1)
    await assert_clean(store, job.id)


async def test_each_lifecycle_has_its_own_crash_budget(store: Store, clock: Clock) -> None:
    data = PIPELINE.to_dict()
    brittle = Lifecycle.from_dict(data | {"name": "brittle", "policies": data["policies"] | {"crash_budget": 1}})
    await store.register(brittle)
    patient = await bring(store, clock, PIPELINE, "running")
    fragile = await bring(store, clock, brittle, "running")
    clock.advance(120_000)
    assert [job.id for job in await store.upkeep.lost(10)] == [fragile.id]
    assert [job.id for job in await store.jobs.take_over(["default"], 10, RIVAL)] == [patient.id]


async def test_lost_jobs_come_oldest_first_and_no_more_than_asked_for(store: Store, clock: Clock) -> None:
    jobs = [await bring(store, clock, DURABLE, "running") for _ in range(5)]
    clock.advance(600_000)
    assert [job.id for job in await store.upkeep.lost(3)] == [job.id for job in jobs[:3]]
    assert len(await store.upkeep.lost(100)) == 5


@pytest.mark.parametrize("table", [PIPELINE, SANDBOX, DURABLE, CRAWL, WORKFLOW], ids=name_of_row)
async def test_a_lease_that_is_let_go_is_over_at_once(store: Store, clock: Clock, table: Lifecycle) -> None:
    job = await bring(store, clock, table, "running")
    await store.jobs.let_go(WORKER, [Lease(job.id, job.attempt)])
    assert (await fetch(store, job.id)).lease_until_ms == clock.now_ms
    taken = await store.jobs.take_over(["default"], 1, RIVAL) or await store.upkeep.lost(1)
    assert [one.id for one in taken] == [job.id]
    await store.jobs.let_go(WORKER, [])
    await assert_clean(store, job.id)


@pytest.mark.parametrize("lifecycle", BUILT_IN)
async def test_a_cancel_is_asked_for_where_the_worker_sees_it(store: Store, clock: Clock, lifecycle: str) -> None:
    job = await bring(store, clock, BUILT_IN[lifecycle], "running")
    lease = [Lease(job.id, job.attempt)]
    assert await store.jobs.request_cancel(lease, "soft") == [job.id]
    assert await fetch(store, job.id) == job._replace(cancel_requested="soft")
    assert await store.jobs.request_cancel(lease, "hard") == [job.id]
    assert await store.jobs.request_cancel(lease, "soft") == [job.id]
    assert (await fetch(store, job.id)).cancel_requested == "hard"
    assert await store.jobs.renew(WORKER, lease) == []
    assert (await fetch(store, job.id)).cancel_requested == "hard"
    assert await store.jobs.request_cancel([], "hard") == []
    await assert_clean(store, job.id)


async def test_a_request_to_cancel_follows_a_take_over_and_ends_with_the_attempt(store: Store, clock: Clock) -> None:
    pipeline = await bring(store, clock, PIPELINE, "running")
    durable = await bring(store, clock, DURABLE, "running")
    await store.jobs.request_cancel([Lease(pipeline.id, 1), Lease(durable.id, 1)], "soft")
    clock.advance(120_000)
    [taken] = await store.jobs.take_over(["default"], 1, RIVAL)
    assert taken.cancel_requested == "soft"
    [back] = await reap(store)
    assert back.cancel_requested is None


async def test_a_job_that_nobody_has_is_not_asked(store: Store, clock: Clock) -> None:
    for state in ("succeeded", "queued"):
        job = await bring(store, clock, DURABLE, state)
        before = await dump(store, job.id)
        assert await store.jobs.request_cancel([Lease(job.id, 1)], "soft") == []
        assert await dump(store, job.id) == before
