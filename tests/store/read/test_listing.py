"""Lists whose filters no single index serves: every job that matches, once, in order, however short the walks are."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from holdfast.kernel.durable import DURABLE
from holdfast.kernel.job import Job
from holdfast.kernel.move import move
from holdfast.store.port import Filter, Signal, Store
from tests.store.scenes import spec

PARENT = "01900000-0000-7000-8000-000000000001"


async def fill(store: Store) -> list[Job]:
    """Sixty jobs, newest first: each column has its own period, so that every combination is there somewhere."""
    await store.jobs.submit(
        [
            spec(
                "crawl" if n % 5 == 0 else "durable",
                task=f"t{n % 3}",
                queue=f"q{n % 4}",
                correlation_id="c" if n % 6 == 0 else None,
                parent_id=PARENT if n % 7 == 0 else None,
                key=f"k{n}" if n % 8 == 0 else None,
            )
            for n in range(60)
        ]
    )
    jobs = [job async for batch in store.reads.all_jobs() for job in batch]
    ended = [job for n, job in enumerate(jobs) if n % 2 and job.lifecycle == "durable"]
    await store.jobs.apply(move(DURABLE, ended, "cancel", actor="test"))
    return [job async for batch in store.reads.all_jobs() for job in batch][::-1]


def fits(job: Job, where: Filter) -> bool:
    given = {name: value for name, value in where._asdict().items() if value is not None}
    states = given.pop("states", (job.state,))
    prefix = given.pop("id_prefix", "")
    same = all(getattr(job, name) == value for name, value in given.items())
    return same and job.state in states and job.id.startswith(prefix)


async def walked(store: Store, where: Filter, limit: int, steps: int | None) -> tuple[list[str], int]:
    found: list[str] = []
    pages, cursor = 0, None
    while True:
        page = await store.reads.list(where, limit=limit, cursor=cursor, steps=steps)
        assert len(page.items) <= limit
        assert all(fits(job, where) for job in page.items)
        found += [job.id for job in page.items]
        pages += 1
        if page.next_cursor is None:
            return found, pages
        assert cursor is None or page.next_cursor < cursor, "a cursor leads on"
        cursor = page.next_cursor


@pytest.mark.parametrize("steps", [1, 7, 1_000, None])
async def test_every_filter_shows_each_job_once(store: Store, steps: int | None) -> None:
    jobs = await fill(store)
    choices: dict[str, tuple[Any, ...]] = {
        "states": (("queued",), ("cancelled", "queued"), ("running",)),
        "task": ("t1", "none"),
        "queue": ("q2", "none"),
        "lifecycle": ("durable", "crawl"),
        "correlation_id": ("c",),
        "parent_id": (PARENT,),
        "id_prefix": (jobs[20].id[:35],),
    }
    for count in range(3):
        for names in itertools.combinations(choices, count):
            for values in itertools.product(*(choices[name] for name in names)):
                where = Filter(**dict(zip(names, values, strict=True)))
                wanted = [job.id for job in jobs if fits(job, where)]
                found, _ = await walked(store, where, 4, steps)
                assert found == wanted, where


async def test_all_filters_at_once(store: Store) -> None:
    jobs = await fill(store)
    one = next(job for job in jobs if job.parent_id and job.correlation_id)
    where = Filter(
        states=(one.state,),
        task=one.task,
        queue=one.queue,
        lifecycle=one.lifecycle,
        correlation_id=one.correlation_id,
        parent_id=one.parent_id,
        id_prefix=one.id,
    )
    assert await walked(store, where, 4, 3) == ([one.id], 1)


async def test_a_walk_that_finds_little_stops(store: Store) -> None:
    await fill(store)
    page = await store.reads.list(Filter(queue="none"), limit=5, steps=10)
    assert page.items == []
    assert page.next_cursor is not None
    assert (await walked(store, Filter(queue="none"), 5, 10))[1] > 3
    # Unbounded, it looks to the end.
    assert await store.reads.list(Filter(queue="none"), limit=5) == ([], None)


async def test_the_sparser_index_is_walked_along(store: Store) -> None:
    """Nothing has this state: however many jobs the task has, one look says so."""
    await fill(store)
    page = await store.reads.list(Filter(task="t1", states=("running",)), limit=5, steps=1)
    assert page == ([], None)


async def test_by_key(store: Store) -> None:
    jobs = await fill(store)
    keyed = next(job for job in jobs if job.key)
    where = Filter(key_scope=keyed.key_scope, key=keyed.key)
    assert [job.id for job in (await store.reads.list(where)).items] == [keyed.id]
    assert (await store.reads.list(where._replace(queue="none"))).items == []


async def test_names_that_jobs_have(store: Store) -> None:
    assert await store.reads.task_names() == []
    assert await store.reads.key_scopes() == []
    await fill(store)
    assert await store.reads.task_names() == ["t0", "t1", "t2"]
    assert await store.reads.task_names(limit=2) == ["t0", "t1"]
    assert await store.reads.key_scopes() == ["t0", "t1", "t2"]


async def test_a_parent_that_is_no_id_has_no_children(store: Store) -> None:
    assert await store.reads.list(Filter(parent_id="nobody")) == ([], None)


async def test_signals_of_one_type(store: Store) -> None:
    first, second = (job.id for job in (await fill(store))[:2])
    await store.jobs.signal([Signal(first, 1, "job_log", "w", f'"{n}"') for n in range(5)])
    await store.jobs.signal([Signal(first, 1, "job_progress", "w", "1"), Signal(first, 1, "job_progress", "w", "2")])
    await store.jobs.signal([Signal(second, 1, "job_log", "w", '"x"')])
    lines = await store.reads.signals_of_type(first, "job_log")
    assert [line.payload for line in lines] == ['"0"', '"1"', '"2"', '"3"', '"4"']
    on = await store.reads.signals_of_type(first, "job_log", after=lines[1].id, limit=2)
    assert on == lines[2:4]
    assert await store.reads.signals_of_type("nonsense", "job_log") == []
    [last] = await store.reads.last_signals([first, second, "nonsense"], "job_progress")
    assert (last.job_id, last.payload) == (first, "2")


async def test_events_since(store: Store) -> None:
    await fill(store)
    now_ms = await store.now_ms()
    found = await store.reads.events_since(["job_submitted", "job_started", "job_submitted"], now_ms - 1, cap=50)
    assert found["job_started"] == 0
    assert 0 < found["job_submitted"] <= 50
    assert await store.reads.events_since(["job_submitted"], now_ms + 1) == {"job_submitted": 0}
