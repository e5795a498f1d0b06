"""What the conformance suite is told in: a clock, specs, and ways to bring a job into any state."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Mapping
from typing import Any

from holdfast.catalog import BUILT_IN
from holdfast.kernel import settle
from holdfast.kernel.job import Failure, Job, Spec
from holdfast.kernel.lifecycle import Command, Lifecycle, Transition
from holdfast.kernel.move import Change, Move
from holdfast.kernel.outcome import Outcome
from holdfast.kernel.proof.invariants import COMPARED, Inspector
from holdfast.kernel.proof.replay import replay
from holdfast.kernel.state import LEASED
from holdfast.store.port import Applied, Store

START_MS = 1_800_000_000_000
WORKER = "worker-1"
RIVAL = "worker-2"
QUEUE = "default"
ENOUGH_TRIES = 20

WORKER_COMMANDS = frozenset(
    {
        Command.START,
        Command.SUCCEED,
        Command.PARTIAL,
        Command.SKIP,
        Command.FAIL,
        Command.COMPENSATE,
        Command.RETRY,
        Command.CANCEL,
        Command.TIME_OUT,
        Command.DEAD_LETTER,
        Command.HAND_BACK,
    }
)
"""What a worker sends about a job that it holds."""

FAILURE = Failure("network_error", "transient", "connection reset", {"url": "http://x/", "attempt": 1})
ROWS = [(table, row) for table in BUILT_IN.values() for row in table.transitions]
STATES = [(table, state.canonical.value) for table in BUILT_IN.values() for state in table.states]

_numbers = itertools.count(1)


class Clock:
    """The store's time in milliseconds; it moves when it is told to."""

    def __init__(self) -> None:
        self.now_ms = START_MS

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, ms: int) -> None:
        self.now_ms += ms


def new_id() -> str:
    """Ids grow, as those of the engine do."""
    return f"01900000-0000-7000-8000-{next(_numbers):012x}"


def name_of_row(value: Any) -> str:
    """The id of a parametrised case."""
    if isinstance(value, Lifecycle):
        return value.name
    if isinstance(value, Transition):
        return f"{value.source}-{value.command}"
    return str(value)


def spec(lifecycle: str = "durable", **fields: Any) -> Spec:
    table = BUILT_IN.get(lifecycle)
    defaults: dict[str, Any] = {"task": "task", "max_tries": ENOUGH_TRIES}
    if table is not None:
        defaults["lease_ms"] = table.policies.lease_ms
    return Spec(id=new_id(), lifecycle=lifecycle, **(defaults | fields))


async def submit(store: Store, lifecycle: str = "durable", **fields: Any) -> Job:
    [answer] = await store.jobs.submit([spec(lifecycle, **fields)])
    return await fetch(store, answer.job_id)


async def fetch(store: Store, job_id: str) -> Job:
    job = await store.reads.get(job_id)
    assert job is not None, f"job {job_id} is gone"
    return job


async def dump(store: Store, job_id: str) -> tuple[Any, ...]:
    """Everything that is kept of a job."""
    reads = store.reads
    return (
        await reads.get(job_id),
        await reads.events(job_id),
        await reads.signals(job_id),
        await reads.dead(),
    )


async def everything(store: Store) -> tuple[Any, ...]:
    """All jobs and all events."""
    jobs = [job async for batch in store.reads.all_jobs() for job in batch]
    return jobs, await store.reads.log(0, 1_000_000)


async def apply_row(
    store: Store, table: Lifecycle, row: Transition, job: Job, *, owner: str | None = None, **move: Any
) -> Applied:
    moves = [Move(job.id, job.attempt, **move)]
    if row.command == Command.DEAD_LETTER:
        moves = [settle.dead_letter(table, job._replace(state=row.source), FAILURE, "timeout").move]
    return await store.jobs.apply([Change(table, (row,), owner or "engine", moves, owner)])


async def take(store: Store, clock: Clock, job: Job, row: Transition, *, worker: str = WORKER) -> Job:
    """Move a job along one row, through the call that makes this move in the engine."""
    table = store.tables[job.lifecycle]
    if row.command == Command.CLAIM:
        [taken] = await store.jobs.claim([job.queue], 1, worker, start=False)
        assert taken.id == job.id
    elif row.command == Command.TAKE_OVER:
        clock.now_ms = max(clock.now_ms, job.lease_until_ms or 0)
        [taken] = await store.jobs.take_over([job.queue], 1, worker)
        assert taken.id == job.id
    else:
        owner = worker if row.source in LEASED and row.command in WORKER_COMMANDS else None
        applied = await apply_row(store, table, row, job, owner=owner)
        assert applied == Applied({job.id: job.version + 1}, [])
    return await fetch(store, job.id)


def shortest_path(table: Lifecycle, goal: str) -> tuple[str, list[Transition]]:
    """Where to start and which rows to take, to reach a state."""
    start = goal if goal in table.initial else table.initial[0].value
    ways: dict[str, list[Transition]] = {start: []}
    queue = deque([start])
    while goal not in ways:
        state = queue.popleft()
        for row in table.transitions:
            if row.source == state and row.target.value not in ways:
                ways[row.target.value] = [*ways[state], row]
                queue.append(row.target.value)
    return start, ways[goal]


async def bring(store: Store, clock: Clock, table: Lifecycle, state: str, **fields: Any) -> Job:
    """A new job, brought into a state by the shortest path of rows; a second passes with each."""
    start, rows = shortest_path(table, state)
    job = await submit(store, table.name, state=start, **fields)
    for row in rows:
        clock.advance(1_000)
        job = await take(store, clock, job, row)
    assert job.state == state
    return job


async def end(store: Store, job: Job, outcome: Outcome, **how: Any) -> Job:
    """What a worker does when its handler has ended."""
    table = BUILT_IN[job.lifecycle]
    path, move = settle.settle(table, job, outcome, **how)
    applied = await store.jobs.apply([Change(table, path, WORKER, [move], job.lease_owner)])
    assert applied.refused == []
    return await fetch(store, job.id)


async def reap(store: Store, tables: Mapping[str, Lifecycle] = BUILT_IN) -> list[Job]:
    """What the engine does about leases that ran out: one job after the other, as the kernel says."""
    jobs = await store.upkeep.lost(1_000)
    for job in jobs:
        path, move = settle.lost(tables[job.lifecycle], job)
        applied = await store.jobs.apply([Change(tables[job.lifecycle], path, "reaper", [move])])
        assert applied.refused == []
    return [await fetch(store, job.id) for job in jobs]


async def assert_clean(store: Store, job_id: str) -> None:
    """The row equals the replay of its events, and no invariant is broken."""
    job, events = await fetch(store, job_id), await store.reads.events(job_id)
    told = replay(store.tables[job.lifecycle], events)
    assert {name: getattr(job, name) for name in COMPARED} == {name: getattr(told, name) for name in COMPARED}
    assert Inspector(store.tables).job(job, events) == []


async def assert_all_clean(store: Store) -> int:
    """Every invariant over every job; returns how many events there are."""
    inspector = Inspector(store.tables)
    jobs, log = await everything(store)
    events: dict[str, list[Any]] = {}
    for event in log:
        events.setdefault(event.job_id, []).append(event)
    assert events.keys() == {job.id for job in jobs}
    assert [breach for job in jobs for breach in inspector.job(job, events[job.id])] == []
    assert await store.reads.live_keys_twice() == []
    assert await store.reads.dead_mismatches() == []
    assert await store.reads.totals() == (len(jobs), len(jobs))
    return len(log)
