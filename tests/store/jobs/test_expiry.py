"""Expiry: past its time a job ends, from the states that can expire and no others."""

from __future__ import annotations

import json

import pytest

from holdfast.kernel import settle
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Command, Lifecycle
from holdfast.kernel.move import Change, move
from holdfast.kernel.policy import HOUR_MS
from holdfast.store.port import Store
from holdfast.systems.pipeline.lifecycle import PIPELINE
from tests.store.scenes import (
    START_MS,
    WORKER,
    Clock,
    assert_clean,
    bring,
    fetch,
    name_of_row,
    submit,
    take,
)


async def expire(store: Store, table: Lifecycle) -> list[Job]:
    jobs = await store.upkeep.expired(100)
    for job in jobs:
        path, part = settle.expired(table, job)
        assert (await store.jobs.apply([Change(table, path, "expirer", [part])])).refused == []
    return [await fetch(store, job.id) for job in jobs]


@pytest.mark.rule("W05")
@pytest.mark.parametrize("state", ["waiting", "queued", "retry_pending"])
async def test_a_workflow_expires_while_it_waits(store: Store, clock: Clock, state: str) -> None:
    job = await bring(store, clock, WORKFLOW, state, expire_after_ms=60_000)
    clock.now_ms = START_MS + 59_999
    assert await expire(store, WORKFLOW) == []
    clock.advance(1)
    [over] = await expire(store, WORKFLOW)
    assert (over.id, over.state, over.finished_at_ms) == (job.id, "expired", clock.now_ms)
    event = (await store.reads.events(job.id))[-1]
    assert (event.type, event.actor, event.reason) == ("job_expired", "expirer", "expired")
    assert await store.upkeep.expired(100) == []
    await assert_clean(store, job.id)


@pytest.mark.rule("W05")
@pytest.mark.parametrize("state", ["running", "succeeded", "cancelled", "expired"])
async def test_what_runs_or_is_over_does_not_expire(store: Store, clock: Clock, state: str) -> None:
    await bring(store, clock, WORKFLOW, state, expire_after_ms=60_000)
    clock.advance(HOUR_MS)
    assert await store.upkeep.expired(100) == []


async def test_without_an_expiry_a_job_waits_for_ever(store: Store, clock: Clock) -> None:
    for table in (WORKFLOW, DURABLE):
        await submit(store, table.name)
    clock.advance(10**12)
    assert await store.upkeep.expired(100) == []


async def test_a_durable_job_may_have_an_expiry(store: Store, clock: Clock) -> None:
    job = await submit(store, expire_after_ms=60_000)
    started = await bring(store, clock, DURABLE, "running", expire_after_ms=60_000, queue="q")
    clock.advance(60_000)
    [over] = await expire(store, DURABLE)
    assert (over.id, over.state) == (job.id, "cancelled")
    assert (await store.reads.events(job.id))[-1].reason == "expired"
    assert (await fetch(store, started.id)).state == "running"
    await assert_clean(store, job.id)


@pytest.mark.rule("P10")
@pytest.mark.parametrize("state", ["queued", "running"])
async def test_a_pipeline_is_stale_two_hours_after_its_last_change(store: Store, clock: Clock, state: str) -> None:
    clock.advance(-HOUR_MS)
    job = await submit(store, "pipeline")
    if state == "running":
        clock.advance(HOUR_MS)
        [job] = await store.jobs.claim(["default"], 1, WORKER)
    changed_ms = clock.now_ms
    clock.now_ms = changed_ms + 2 * HOUR_MS - 1
    assert await expire(store, PIPELINE) == []
    clock.advance(1)
    [over] = await expire(store, PIPELINE)
    assert (over.state, PIPELINE.state(over.state).label) == ("failed", "FAILED")
    assert over.outcome is not None
    assert json.loads(over.outcome)["error"]["message"] == "Job timed out or was orphaned"
    assert (await store.reads.events(job.id))[-1].reason == "Job timed out or was orphaned"
    await assert_clean(store, job.id)


async def test_a_pipeline_that_is_taken_over_is_not_stale(store: Store, clock: Clock) -> None:
    job = await bring(store, clock, PIPELINE, "running")
    clock.advance(HOUR_MS)
    await take(store, clock, job, PIPELINE.row("running", Command.TAKE_OVER))
    clock.advance(HOUR_MS + 1)
    assert await store.upkeep.expired(100) == []
    clock.advance(HOUR_MS)
    assert [one.id for one in await store.upkeep.expired(100)] == [job.id]


async def test_the_longest_expired_come_first_and_no_more_than_asked_for(store: Store, clock: Clock) -> None:
    jobs = [await submit(store, "workflow", expire_after_ms=ms) for ms in (300, 100, 200)]
    clock.advance(1_000)
    assert [job.id for job in await store.upkeep.expired(2)] == [jobs[1].id, jobs[2].id]


@pytest.mark.parametrize(("table", "command"), [(WORKFLOW, "claim"), (PIPELINE, "cancel")], ids=name_of_row)
async def test_an_expiry_that_comes_second_changes_nothing(
    store: Store, clock: Clock, table: Lifecycle, command: str
) -> None:
    await submit(store, table.name, expire_after_ms=60_000)
    clock.advance(3 * HOUR_MS)
    [late] = await store.upkeep.expired(1)
    await take(store, clock, late, table.row("queued", command))
    before = await fetch(store, late.id)
    path, move = settle.expired(table, late)
    applied = await store.jobs.apply([Change(table, path, "expirer", [move])])
    assert [refusal.why for refusal in applied.refused] == ["state"]
    assert await fetch(store, late.id) == before


@pytest.mark.rule("W12")
async def test_the_time_that_a_job_lay_cancelled_does_not_count(store: Store, clock: Clock) -> None:
    job = await bring(store, clock, WORKFLOW, "cancelled", expire_after_ms=60_000)
    assert job.expires_at_ms is not None
    for _ in range(2):
        clock.advance(HOUR_MS)
        await store.jobs.apply(move(WORKFLOW, [job], Command.RESUME, actor="me"))
        resumed = await fetch(store, job.id)
        assert resumed.expires_at_ms == job.expires_at_ms + HOUR_MS
        assert await store.upkeep.expired(100) == []
        await assert_clean(store, job.id)
        await store.jobs.apply(move(WORKFLOW, [resumed], Command.CANCEL, actor="me"))
        job = await fetch(store, job.id)
