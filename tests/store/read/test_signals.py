"""Signals: what happens to a job and is no transition. They end by themselves; events do not."""

from __future__ import annotations

import pytest

from holdfast.kernel.durable import DURABLE
from holdfast.kernel.policy import DAY_MS
from holdfast.store.port import Lease, Signal, Store
from tests.store.scenes import WORKER, Clock, assert_clean, bring, dump


@pytest.mark.rule("D18", "D20")
async def test_a_renewal_is_a_signal_with_an_end(store: Store, clock: Clock) -> None:
    job = await bring(store, clock, DURABLE, "running")
    events = await store.reads.events(job.id)
    for _ in range(2):
        clock.advance(20_000)
        await store.jobs.renew(WORKER, [Lease(job.id, job.attempt)])
    kept = await store.reads.signals(job.id)
    assert [(s.type, s.at_ms, s.actor, s.attempt) for s in kept] == [
        ("job_lease_renewed", clock.now_ms - 20_000, WORKER, 1),
        ("job_lease_renewed", clock.now_ms, WORKER, 1),
    ]
    assert {s.expires_at_ms - s.at_ms for s in kept} == {DAY_MS}
    assert await store.reads.events(job.id) == events
    await assert_clean(store, job.id)


async def test_a_renewal_may_be_silent(store: Store, clock: Clock) -> None:
    job = await bring(store, clock, DURABLE, "running")
    assert await store.jobs.renew(WORKER, [Lease(job.id, job.attempt)], beat=False) == []
    assert await store.reads.signals(job.id) == []


@pytest.mark.rule("D18", "D20")
async def test_heartbeats_and_progress_are_kept_for_as_long_as_asked(store: Store, clock: Clock) -> None:
    job = await bring(store, clock, DURABLE, "running")
    beats = [
        Signal(job.id, 1, "job_heartbeat", WORKER),
        Signal(job.id, 1, "job_progress", WORKER, '{"done":1,"total":9}'),
    ]
    await store.jobs.signal(beats, ttl_ms=60_000)
    await store.jobs.signal(beats[:1])
    await store.jobs.signal([])
    kept = await store.reads.signals(job.id)
    assert [(s.type, s.payload, s.expires_at_ms - clock.now_ms) for s in kept] == [
        ("job_heartbeat", None, 60_000),
        ("job_progress", '{"done":1,"total":9}', 60_000),
        ("job_heartbeat", None, DAY_MS),
    ]
    assert [s.id for s in kept] == sorted(s.id for s in kept)


async def test_signals_leave_job_and_events_as_they_are(store: Store, clock: Clock) -> None:
    job = await bring(store, clock, DURABLE, "running")
    row, events, _, _ = await dump(store, job.id)
    await store.jobs.signal([Signal(job.id, 1, "job_heartbeat", WORKER)])
    assert (await dump(store, job.id))[:2] == (row, events)
    assert await store.reads.signals("01900000-0000-7000-8000-ffffffffffff") == []
    assert await store.reads.signals("nonsense") == []
