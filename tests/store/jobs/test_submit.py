"""Submit: a job and its first event, or neither."""

from __future__ import annotations

import pytest

from holdfast.catalog import BUILT_IN
from holdfast.kernel.errors import NotAllowedError, NotFoundError
from holdfast.kernel.event import SCHEMA_VERSION
from holdfast.kernel.policy import HOUR_MS
from holdfast.store.port import Store, Submitted
from tests.store.scenes import START_MS, Clock, assert_clean, everything, fetch, new_id, spec, submit


@pytest.mark.rule("D05", "D19", "D27", "D29")
@pytest.mark.parametrize("lifecycle", BUILT_IN)
async def test_a_job_and_its_first_event(store: Store, lifecycle: str) -> None:
    one = spec(lifecycle, correlation_id="c", trace_id="t", actor="ann", reason="why", cause="before")
    assert await store.jobs.submit([one]) == [Submitted(one.id, True)]
    job = await fetch(store, one.id)
    assert (job.state, job.attempt, job.version, job.tries, job.losses) == ("queued", 1, 1, 0, 0)
    assert job.ready
    [event] = await store.reads.events(one.id)
    assert event.type == BUILT_IN[lifecycle].submit_event
    assert (event.seq, event.attempt, event.from_state, event.to_state) == (1, 1, None, "queued")
    assert (event.actor, event.reason, event.cause, event.at_ms) == ("ann", "why", "before", START_MS)
    assert (event.correlation_id, event.trace_id) == ("c", "t")
    assert (event.schema_version, event.digest is not None) == (SCHEMA_VERSION, True)
    await assert_clean(store, one.id)


@pytest.mark.rule("W04")
async def test_every_field_is_kept(store: Store) -> None:
    one = spec(
        "workflow",
        task="report",
        payload='{"a":[1,"ü"]}',
        queue="texts",
        priority=-7,
        state="waiting",
        max_tries=4,
        lease_ms=45_000,
        delay_ms=5_000,
        expire_after_ms=90_000,
        keep_until_ms=START_MS + HOUR_MS,
        key="k",
        key_scope="s",
        correlation_id="c",
        trace_id="t",
        parent_id=new_id(),
        tags='{"team":"x"}',
        options='{"backoff":true}',
    )
    await store.jobs.submit([one])
    job = await fetch(store, one.id)
    same = set(one._fields) & set(job._fields) - {"due_at_ms"}
    assert {name: getattr(job, name) for name in same} == {name: getattr(one, name) for name in same}
    assert (job.due_at_ms, job.expires_at_ms) == (START_MS + 5_000, START_MS + 90_000)
    assert (job.created_at_ms, job.changed_at_ms) == (START_MS, START_MS)
    nothing = (
        "lease_owner",
        "lease_until_ms",
        "started_at_ms",
        "finished_at_ms",
        "cancel_requested",
        "outcome",
    )
    assert {getattr(job, name) for name in nothing} == {None}
    assert not job.ready
    await assert_clean(store, one.id)


async def test_a_due_time_wins_over_a_delay(store: Store) -> None:
    job = await submit(store, due_at_ms=START_MS + 9_000, delay_ms=5)
    assert job.due_at_ms == START_MS + 9_000
    await assert_clean(store, job.id)


async def test_a_batch_is_answered_in_its_order(store: Store) -> None:
    specs = [spec(lifecycle) for _ in range(20) for lifecycle in BUILT_IN]
    specs.reverse()
    assert await store.jobs.submit(specs) == [Submitted(one.id, True) for one in specs]
    assert await store.reads.totals() == (100, 100)


async def test_an_empty_batch_is_nothing(store: Store) -> None:
    assert await store.jobs.submit([]) == []
    assert await store.jobs.submit([], op_id="op") == []
    assert await store.reads.totals() == (0, 0)


async def test_one_bad_spec_and_nothing_is_stored(store: Store) -> None:
    with pytest.raises(NotFoundError) as unknown:
        await store.jobs.submit([spec(), spec("nonsense"), spec()])
    assert "durable" in str(unknown.value)
    with pytest.raises(NotAllowedError) as wrong:
        await store.jobs.submit([spec(), spec("durable", state="running")])
    assert wrong.value.allowed == ("submit as queued",)
    assert await everything(store) == ([], [])


async def test_an_id_that_exists_stores_nothing_of_the_call(store: Store) -> None:
    first = await submit(store)
    before = await everything(store)
    with pytest.raises(Exception, match=r"(?i)unique"):
        await store.jobs.submit([spec(), spec()._replace(id=first.id)])
    assert await everything(store) == before


async def test_the_stores_time_is_the_clock_that_it_was_given(store: Store, clock: Clock) -> None:
    assert await store.now_ms() == START_MS
    clock.advance(1)
    assert await store.now_ms() == START_MS + 1
