"""The read port: one job, lists, counts, and a job's story."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from holdfast.catalog import BUILT_IN
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.errors import StoreError
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.log import SPAN
from holdfast.kernel.outcome import Done, Retry
from holdfast.store.port import Filter, Store
from holdfast.systems.pipeline.lifecycle import PIPELINE
from tests.store.scenes import (
    FAILURE,
    RIVAL,
    WORKER,
    Clock,
    bring,
    end,
    fetch,
    new_id,
    spec,
    submit,
    take,
)

NOBODY = "01900000-0000-7000-8000-ffffffffffff"
WRONG_IDS = [
    "",
    "nonsense",
    "queued",
    "'; DROP TABLE holdfast_job; --",
    NOBODY.upper(),
    NOBODY.replace("-", ""),
    "0190000-00000-7000-8000-ffffffffffff",
    "------------------------------------",
    NOBODY + "\n",
    "\x00" * 36,
    "\ud800" * 36,
    "٣1900000-0000-7000-8000-ffffffffffff",
]


async def ids(store: Store, **where: Any) -> list[str]:
    return [job.id for job in (await store.reads.list(Filter(**where))).items]


@pytest.mark.parametrize("job_id", WRONG_IDS, ids=range(len(WRONG_IDS)))
async def test_an_id_of_the_wrong_form_is_simply_not_there(store: Store, job_id: str) -> None:
    reads = store.reads
    assert await reads.get(job_id) is None
    assert await reads.get_many([job_id]) == []
    for read in (reads.events, reads.attempts, reads.signals):
        assert await read(job_id) == []


async def test_a_job_that_does_not_exist_is_not_there(store: Store) -> None:
    assert await store.reads.get(NOBODY) is None
    assert await store.reads.events(NOBODY) == []
    assert await store.reads.get_many([NOBODY]) == []
    assert await store.reads.get_many([]) == []


async def test_many_jobs_at_once(store: Store) -> None:
    jobs = [await submit(store) for _ in range(3)]
    found = await store.reads.get_many([jobs[2].id, NOBODY, jobs[0].id, "nonsense"])
    assert sorted(found) == [jobs[0], jobs[2]]


async def test_every_filter_and_filters_together(store: Store, clock: Clock) -> None:
    parent = new_id()
    a = await submit(store, task="a", queue="x", correlation_id="c")
    b = await submit(store, "crawl", task="b", queue="x", parent_id=parent)
    c = await bring(store, clock, DURABLE, "running", task="a", correlation_id="c")
    d = await bring(store, clock, DURABLE, "succeeded", task="b")
    cases: list[tuple[dict[str, Any], list[Any]]] = [
        ({}, [d, c, b, a]),
        ({"states": ("queued",)}, [b, a]),
        ({"states": ("running", "succeeded", "running")}, [d, c]),
        ({"states": ()}, []),
        ({"states": ("nonsense",)}, []),
        ({"task": "a"}, [c, a]),
        ({"queue": "x"}, [b, a]),
        ({"lifecycle": "durable"}, [d, c, a]),
        ({"correlation_id": "c"}, [c, a]),
        ({"parent_id": parent}, [b]),
        ({"states": ("queued", "running"), "task": "a", "lifecycle": "durable", "queue": "x"}, [a]),
        ({"task": "a", "queue": "nowhere"}, []),
    ]
    for where, expected in cases:
        assert await ids(store, **where) == [job.id for job in expected], where


@pytest.mark.parametrize("states", [None, ("queued",), ("queued", "succeeded", "running")])
async def test_pages_show_each_job_once_whatever_is_added(
    store: Store, clock: Clock, states: tuple[str, ...] | None
) -> None:
    await store.jobs.submit([spec() for _ in range(12)])
    for job in await store.jobs.claim(["default"], 5, WORKER):
        await end(store, job, Done())
    expected = sorted(await ids(store, states=states), reverse=True)
    assert len(expected) == (7 if states == ("queued",) else 12)
    seen: list[str] = []
    cursor = None
    for _ in range(20):
        page = await store.reads.list(Filter(states=states), limit=5, cursor=cursor)
        assert len(page.items) <= 5
        seen += [job.id for job in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
        await submit(store)
    assert seen == expected


async def test_a_page_that_is_just_full_is_the_last(store: Store) -> None:
    await store.jobs.submit([spec() for _ in range(5)])
    assert (await store.reads.list(Filter(), limit=5)).next_cursor is None
    assert (await store.reads.list(Filter(), limit=4)).next_cursor is not None
    assert await store.reads.list(Filter(task="none"), limit=4) == ([], None)


@pytest.mark.parametrize("cursor", WRONG_IDS, ids=range(len(WRONG_IDS)))
async def test_a_cursor_that_was_not_given_out_is_an_error(store: Store, cursor: str) -> None:
    with pytest.raises(StoreError) as wrong:
        await store.reads.list(Filter(), cursor=cursor)
    assert wrong.value.field == "cursor"
    assert wrong.value.remedy


async def test_counts_go_no_further_than_the_cap(store: Store, clock: Clock) -> None:
    await bring(store, clock, DURABLE, "running")
    await store.jobs.submit([spec() for _ in range(7)] + [spec("crawl") for _ in range(2)])
    expected = {("durable", "queued"): 7, ("durable", "running"): 1, ("crawl", "queued"): 2}
    assert await store.reads.counts() == expected
    # The newest five of a state, whatever lifecycle they follow.
    assert await store.reads.counts(cap=5) == expected | {("durable", "queued"): 3}


@pytest.mark.rule("D19", "D20", "D27")
async def test_events_by_job_by_type_and_by_correlation(store: Store, clock: Clock) -> None:
    root = await submit(store, trace_id="t-1")
    [root] = await store.jobs.claim(["default"], 1, WORKER)
    child = await submit(store, "crawl", correlation_id=root.id, cause=root.id, reason="because")
    stranger = await bring(store, clock, DURABLE, "succeeded")
    reads = store.reads
    assert [event.type for event in await reads.events(root.id)] == [
        "job_submitted",
        "job_claimed",
        "job_started",
    ]
    first, claim, _ = await reads.events(root.id)
    assert (first.actor, claim.actor, claim.trace_id) == ("client", WORKER, "t-1")
    assert first.pos < claim.pos

    submitted = await reads.events_by_type("job_submitted")
    assert [event.job_id for event in submitted] == [root.id, stranger.id]
    assert await reads.events_by_type("job_submitted", limit=1) == submitted[:1]
    clock.advance(1_000)
    late = await submit(store)
    assert [e.job_id for e in await reads.events_by_type("job_submitted", since_ms=clock.now_ms)] == [late.id]
    assert await reads.events_by_type("nonsense") == []

    story = await reads.events_by_correlation(root.id)
    assert [(event.job_id, event.seq) for event in story] == [
        (root.id, 1),
        (root.id, 2),
        (root.id, 3),
        (child.id, 1),
    ]
    assert (story[-1].cause, story[-1].reason, story[-1].correlation_id) == (root.id, "because", root.id)
    assert await reads.events_by_correlation(root.id, limit=2) == story[:2]
    assert await reads.events_by_correlation("nobody's") == []


async def test_attempts_tell_who_and_how_each_ended(store: Store, clock: Clock) -> None:
    start_ms = clock.now_ms
    await submit(store)
    [job] = await store.jobs.claim(["default"], 1, WORKER)
    clock.advance(1_000)
    await end(store, job, Retry(FAILURE))
    clock.advance(500)
    [job] = await store.jobs.claim(["default"], 1, RIVAL)
    first, second = await store.reads.attempts(job.id)
    assert (first.number, first.owner, first.end, first.reason) == (
        1,
        WORKER,
        "job_retry_scheduled",
        "network_error",
    )
    assert (first.started_at_ms, first.ended_at_ms) == (start_ms, start_ms + 1_000)
    assert "connection reset" in (first.error or "")
    assert (second.number, second.owner, second.started_at_ms, second.end) == (
        2,
        RIVAL,
        start_ms + 1_500,
        None,
    )
    await end(store, job, Done("1"))
    assert [attempt.end for attempt in await store.reads.attempts(job.id)] == [
        "job_retry_scheduled",
        "job_succeeded",
    ]


async def test_attempts_across_a_take_over_and_a_resume(store: Store, clock: Clock) -> None:
    job = await bring(store, clock, PIPELINE, "running")
    await take(store, clock, job, PIPELINE.row("running", Command.TAKE_OVER), worker=RIVAL)
    told = await store.reads.attempts(job.id)
    assert [(a.owner, a.end) for a in told] == [(WORKER, "job_taken_over"), (RIVAL, None)]
    job = await bring(store, clock, WORKFLOW, "cancelled")
    await take(store, clock, job, WORKFLOW.row("cancelled", Command.RESUME))
    told = await store.reads.attempts(job.id)
    assert [(a.number, a.owner, a.end) for a in told] == [(1, None, "job_cancelled"), (2, None, None)]


@pytest.mark.rule("C16")
async def test_the_feed_hands_out_every_event_once_and_in_order(store: Store, clock: Clock) -> None:
    feed = store.log.feed()
    assert await feed.next() == []
    for lifecycle in BUILT_IN:
        await store.jobs.submit([spec(lifecycle) for _ in range(3)])
        for job in await store.jobs.claim(["default"], 2, WORKER):
            await end(store, job, Done())
    log = await store.reads.log(0, 1_000)
    # Each row of the log has places of its own, and its events stand there without a gap.
    assert log[0].pos == SPAN
    assert all(b.pos - a.pos == 1 or (b.pos > a.pos and b.pos % SPAN == 0) for a, b in pairwise(log))
    seen: list[Any] = []
    while events := await feed.next(7):
        assert len(events) <= 7
        assert feed.position == events[-1].pos
        seen += events
    assert [(event.pos, event.job_id, event.seq) for event in seen] == [(e.pos, e.job_id, e.seq) for e in log]
    middle = store.log.feed(after=log[9].pos)
    assert [event.pos for event in await middle.next(5)] == [event.pos for event in log[10:15]]
    late = await submit(store, correlation_id="c")
    assert [(event.job_id, event.correlation_id) for event in await feed.next()] == [(late.id, "c")]


@pytest.mark.rule("C16")
async def test_what_is_in_the_log_stays_as_it_is(store: Store, clock: Clock) -> None:
    jobs = [await bring(store, clock, table, "running") for table in BUILT_IN.values()]
    before = await store.reads.log(0, 1_000)
    for job in jobs:
        await end(store, job, Done())
    assert (await store.reads.log(0, 1_000))[: len(before)] == before


async def test_the_whole_store_in_batches(store: Store) -> None:
    specs = [spec() for _ in range(7)]
    await store.jobs.submit(specs)
    await store.jobs.claim(["default"], 4, WORKER)
    jobs = [job async for batch in store.reads.all_jobs(batch=3) for job in batch]
    events = [event async for batch in store.reads.all_events(batch=4) for event in batch]
    assert [job.id for job in jobs] == [one.id for one in specs]
    assert [(e.job_id, e.seq) for e in events] == sorted((e.job_id, e.seq) for e in events)
    assert len(events) == 7 + 2 * 4
    assert await store.reads.totals() == (7, 7)


async def test_a_keys_holder(store: Store) -> None:
    job = await submit(store, key="k", key_scope="s")
    assert await store.reads.key_holder("s", "k") == job.id
    assert await store.reads.key_holder("s", "other") is None
    assert (await fetch(store, job.id)).key == "k"
