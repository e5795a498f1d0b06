"""Claim: which jobs, in which order, to whom, and never twice."""

from __future__ import annotations

import pytest

from holdfast.catalog import BUILT_IN
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.lifecycle import Command, Lifecycle, Transition, Tries
from holdfast.kernel.outcome import Retry
from holdfast.kernel.state import Canonical, State
from holdfast.store.port import Store
from tests.store.scenes import (
    FAILURE,
    RIVAL,
    START_MS,
    WORKER,
    Clock,
    assert_all_clean,
    assert_clean,
    bring,
    end,
    fetch,
    spec,
    submit,
    take,
)

PRIVATE = Lifecycle(
    name="private",
    states=(State("queued", "queued"), State("running", "running"), State("done", "succeeded")),
    transitions=(
        Transition(Canonical.QUEUED, Command.CLAIM, Canonical.RUNNING, "job_started", tries=Tries.COUNT),
        Transition(Canonical.RUNNING, Command.SUCCEED, Canonical.SUCCEEDED, "job_succeeded"),
        Transition(
            Canonical.RUNNING,
            Command.LOSE,
            Canonical.QUEUED,
            "job_lease_expired",
            opens_attempt=True,
            counts_loss=True,
        ),
    ),
)


async def claimed(store: Store, limit: int = 100, queues: tuple[str, ...] = ("default",)) -> list[str]:
    return [job.id for job in await store.jobs.claim(queues, limit, WORKER)]


async def test_as_many_lanes_as_there_are(store: Store, clock: Clock) -> None:
    """More than one look brings at a time, and exactly as many."""
    for many in (205, 100):
        jobs = [spec(priority=priority) for priority in range(many)]
        await store.jobs.submit(jobs)
        assert await claimed(store, many) == [job.id for job in reversed(jobs)]
    assert await claimed(store) == []


async def test_highest_priority_first_then_longest_due(store: Store, clock: Clock) -> None:
    wishes = [(0, 300), (5, 200), (-1, 0), (5, 100), (0, 100), (0, 200)]
    jobs = {}
    for priority, due in wishes:
        jobs[priority, due] = (await submit(store, priority=priority, due_at_ms=START_MS - 1_000 + due)).id
    order = [(5, 100), (5, 200), (0, 100), (0, 200), (0, 300), (-1, 0)]
    taken = await claimed(store, 3) + await claimed(store, 1) + await claimed(store, 50)
    assert taken == [jobs[wish] for wish in order]
    assert await claimed(store) == []


@pytest.mark.rule("W04")
async def test_a_delay_holds_a_job_back_until_then(store: Store, clock: Clock) -> None:
    late = await submit(store, delay_ms=5_000)
    later = await submit(store, due_at_ms=START_MS + 60_000)
    assert await claimed(store) == []
    clock.advance(4_999)
    assert await claimed(store) == []
    clock.advance(1)
    assert await claimed(store) == [late.id]
    clock.now_ms = START_MS + 60_000
    assert await claimed(store) == [later.id]


@pytest.mark.parametrize("limit", [0, 1, 4, 10, 11])
async def test_never_more_than_the_limit(store: Store, limit: int) -> None:
    await store.jobs.submit([spec(priority=n % 3) for n in range(10)])
    assert len(await claimed(store, limit)) == min(limit, 10)


async def test_only_the_queues_that_were_asked_for(store: Store) -> None:
    a, b, _ = [await submit(store, queue=queue) for queue in ("a", "b", "c")]
    assert sorted(await claimed(store, queues=("a", "b", "empty"))) == [a.id, b.id]
    assert await claimed(store, queues=()) == []


async def test_several_lifecycles_from_one_queue(store: Store) -> None:
    jobs = [await submit(store, lifecycle) for lifecycle in BUILT_IN]
    taken = await store.jobs.claim(["default"], 10, WORKER)
    assert {job.id for job in taken} == {job.id for job in jobs}
    assert {job.state for job in taken} == {"running"}
    await assert_all_clean(store)


@pytest.mark.rule("D02", "D05", "D08")
@pytest.mark.parametrize("lifecycle", ["durable", "sandbox"])
async def test_a_claim_assigns_and_a_start_runs(store: Store, clock: Clock, lifecycle: str) -> None:
    await submit(store, lifecycle, lease_ms=45_000)
    clock.advance(10)
    [job] = await store.jobs.claim(["default"], 1, WORKER, start=False)
    assert (job.state, job.version, job.tries, job.started_at_ms) == ("assigned", 2, 1, None)
    assert (job.lease_owner, job.lease_until_ms) == (WORKER, clock.now_ms + 45_000)
    assert job == await fetch(store, job.id)
    clock.advance(10)
    job = await take(store, clock, job, BUILT_IN[lifecycle].row("assigned", Command.START))
    assert (job.state, job.version, job.started_at_ms) == ("running", 3, clock.now_ms)
    # Starting is no renewal.
    assert job.lease_until_ms == clock.now_ms - 10 + 45_000


@pytest.mark.rule("D05", "D08")
@pytest.mark.parametrize("lifecycle", BUILT_IN)
async def test_a_claim_that_starts_writes_every_event_on_the_way(store: Store, clock: Clock, lifecycle: str) -> None:
    table = BUILT_IN[lifecycle]
    await submit(store, lifecycle)
    clock.advance(10)
    [job] = await store.jobs.claim(["default"], 1, WORKER)
    assert job == await fetch(store, job.id)
    assert (job.state, job.tries, job.attempt, job.started_at_ms) == ("running", 1, 1, clock.now_ms)
    assert (job.lease_owner, job.lease_until_ms) == (WORKER, clock.now_ms + table.policies.lease_ms)
    assert not job.ready
    events = (await store.reads.events(job.id))[1:]
    assert [event.type for event in events] == [row.event for row in table.claim_path("queued", start=True)]
    assert {(event.actor, event.at_ms, event.attempt) for event in events} == {(WORKER, clock.now_ms, 1)}
    assert job.version == len(events) + 1
    await assert_clean(store, job.id)


@pytest.mark.rule("D08", "D09")
@pytest.mark.parametrize("lifecycle", BUILT_IN)
def test_leases_and_heartbeats_are_as_the_document_says(lifecycle: str) -> None:
    policies = BUILT_IN[lifecycle].policies
    assert 30_000 <= policies.lease_ms <= 120_000
    assert 10_000 <= policies.heartbeat_ms <= 30_000
    assert 2 * policies.heartbeat_ms < policies.lease_ms


@pytest.mark.rule("C02", "W02")
@pytest.mark.parametrize("lifecycle", ["crawl", "workflow"])
async def test_retries_have_a_lane_of_their_own(store: Store, clock: Clock, lifecycle: str) -> None:
    job = await bring(store, clock, BUILT_IN[lifecycle], "running")
    job = await end(store, job, Retry(FAILURE, delay_ms=2_000))
    assert (job.state, job.ready) == ("retry_pending", True)
    fresh = await submit(store, lifecycle)
    assert await claimed(store) == [fresh.id]
    clock.advance(2_000)
    [again] = await store.jobs.claim(["default"], 10, RIVAL)
    assert (again.id, again.attempt, again.tries, again.lease_owner) == (job.id, 2, 2, RIVAL)
    await assert_all_clean(store)


@pytest.mark.rule("D03", "D21")
async def test_no_claim_gives_a_job_twice(store: Store, other: Store) -> None:
    job = await submit(store)
    [won] = await store.jobs.claim(["default"], 1, WORKER)
    for rival in (store, other):
        for owner in (WORKER, RIVAL):
            assert await rival.jobs.claim(["default"], 1, owner) == []
    assert await fetch(store, job.id) == won
    assert [event.type for event in await store.reads.events(job.id)].count("job_claimed") == 1


@pytest.mark.rule("D03", "D21")
async def test_two_stores_share_a_queue_without_overlap(store: Store, other: Store) -> None:
    specs = [spec(priority=n % 2) for n in range(40)]
    await store.jobs.submit(specs)
    taken: list[str] = []
    while jobs := await store.jobs.claim(["default"], 3, WORKER) + await other.jobs.claim(["default"], 3, RIVAL):
        taken += [job.id for job in jobs]
    assert sorted(taken) == sorted(one.id for one in specs)
    await assert_all_clean(store)


async def test_a_job_that_turns_up_before_the_last_one_is_found(store: Store, clock: Clock) -> None:
    early = await submit(store, due_at_ms=START_MS - 1)
    late = await submit(store, due_at_ms=START_MS - 2)
    assert await claimed(store, 1) == [late.id]
    before = await submit(store, due_at_ms=START_MS - 1_000_000)
    rest = [*await claimed(store, 1), *await claimed(store, 1)]
    assert sorted(rest) == sorted([early.id, before.id])


async def test_a_job_that_is_handed_back_is_found_again(store: Store, clock: Clock) -> None:
    first, second = await submit(store), await submit(store)
    [job] = await store.jobs.claim(["default"], 1, WORKER)
    assert job.id == first.id
    job = await take(store, clock, job, DURABLE.row("running", Command.HAND_BACK))
    assert (job.tries, job.attempt) == (0, 2)
    taken = [*await claimed(store, 1), *await claimed(store, 1)]
    assert sorted(taken) == [first.id, second.id]
    await assert_all_clean(store)


async def test_a_new_lane_is_seen_by_a_store_that_found_nothing(store: Store, other: Store) -> None:
    assert await claimed(store) == []
    job = await submit(other, "crawl", priority=3)
    assert await claimed(store) == [job.id]


async def test_a_lifecycle_that_is_unknown_here_is_left_alone(store: Store, other: Store) -> None:
    await store.register(PRIVATE)
    theirs = await submit(store, "private", priority=9)
    ours = await submit(store)
    assert await claimed(other) == [ours.id]
    assert await claimed(other) == []
    assert await claimed(store) == [theirs.id]
    await assert_all_clean(store)


@pytest.mark.parametrize("lifecycle", ["workflow", "sandbox"])
async def test_what_waits_is_not_claimed_until_it_is_released(store: Store, clock: Clock, lifecycle: str) -> None:
    job = await submit(store, lifecycle, state="waiting")
    assert await claimed(store) == []
    clock.advance(60_000)
    job = await take(store, clock, job, BUILT_IN[lifecycle].row("waiting", Command.RELEASE))
    assert job.due_at_ms == clock.now_ms
    assert await claimed(store) == [job.id]


async def test_who_finds_nothing_knows_when_there_will_be(store: Store, clock: Clock) -> None:
    await submit(store, delay_ms=400, queue="default")
    await submit(store, delay_ms=250, priority=3)
    await submit(store, delay_ms=100, queue="other")
    assert await claimed(store) == []
    assert store.jobs.opens_in_s == 0.25
    clock.advance(250)
    assert len(await claimed(store)) == 1
    assert await claimed(store) == []
    assert store.jobs.opens_in_s == 0.15
    clock.advance(150)
    assert len(await claimed(store)) == 1
    assert await claimed(store) == []
    assert store.jobs.opens_in_s is None
