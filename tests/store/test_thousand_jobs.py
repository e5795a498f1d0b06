"""A thousand jobs of all lifecycles under seeded chance: whatever happens, the log adds up."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from holdfast.catalog import BUILT_IN
from holdfast.kernel import settle
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Command, Transition
from holdfast.kernel.move import Change, Move
from holdfast.kernel.outcome import Cancelled, Done, Fail, Outcome, Partial, Retry, Skip, TimedOut
from holdfast.kernel.state import RANK
from holdfast.store.port import Lease, Store
from tests.store.scenes import FAILURE, Clock, assert_all_clean, everything, reap, spec

JOBS = 1_000
WORKERS = ("w-1", "w-2", "w-3")
OUTCOMES: tuple[Outcome, ...] = (
    Done("1"),
    Partial(),
    Skip("nothing to do"),
    Retry(FAILURE),
    Fail(FAILURE),
    Fail(FAILURE, dead_reason="parse_error"),
    Cancelled("asked"),
    TimedOut(FAILURE),
)


def changes(jobs: list[Job], chance: random.Random) -> list[Change]:
    """What workers send about jobs that they believe to hold: an ending, a hand-back, or a start."""
    made = []
    path: tuple[Transition, ...]
    for job in jobs:
        table = BUILT_IN[job.lifecycle]
        back = table.find(job.state, Command.HAND_BACK)
        if back is not None and chance.random() < 0.1:
            path, move = (back,), Move(job.id, job.attempt, reason="draining")
        elif job.state == "assigned" and chance.random() < 0.8:
            path, move = (table.row(job.state, Command.START),), Move(job.id, job.attempt)
        else:
            outcome = chance.choice(OUTCOMES) if job.state == "running" else Cancelled("too early")
            path, move = settle.settle(table, job, outcome, chance=chance.random())
        made.append(Change(table, path, job.lease_owner or "", [move], job.lease_owner))
    return made


async def outsiders(store: Store, chance: random.Random, ids: list[str]) -> None:
    """People and chores: cancel, release, expire, resume, clean."""
    for job in sorted(await store.reads.get_many(chance.sample(ids, 20))):
        table = BUILT_IN[job.lifecycle]
        rows = [row for row in table.transitions if row.source == job.state]
        commands = (
            Command.CANCEL,
            Command.RELEASE,
            Command.RESUME,
            Command.CLEAN,
            Command.CLEANED,
            Command.SKIP,
        )
        rows = [row for row in rows if row.command in commands]
        if rows:
            row = chance.choice(rows)
            await store.jobs.apply([Change(table, (row,), "ann", [Move(job.id, job.attempt)])])
    for job in await store.upkeep.expired(10):
        path, move = settle.expired(BUILT_IN[job.lifecycle], job)
        await store.jobs.apply([Change(BUILT_IN[job.lifecycle], path, "expirer", [move])])


@pytest.mark.slow
@pytest.mark.rule("D03", "D04", "D05", "D25")
async def test_a_thousand_jobs_under_chance(store: Store, other: Store, clock: Clock) -> None:
    chance = random.Random(20_261_116)
    specs = [
        spec(
            lifecycle := chance.choice(list(BUILT_IN)),
            state=chance.choice([state.value for state in BUILT_IN[lifecycle].initial]),
            priority=chance.randrange(3),
            max_tries=chance.choice([1, 3, 7]),
            delay_ms=chance.choice([0, 0, 5_000]),
            expire_after_ms=chance.choice([None, 600_000]),
        )
        for _ in range(JOBS)
    ]
    for at in range(0, JOBS, 100):
        await store.jobs.submit(specs[at : at + 100])

    ids = [one.id for one in specs]
    held: list[Job] = []
    refused: Counter[str] = Counter()
    for turn in range(40):
        one = store if turn % 2 else other
        for worker in WORKERS:
            start = chance.random() < 0.7
            held += await one.jobs.claim(["default"], chance.randrange(30), worker, start=start)
            held += await one.jobs.take_over(["default"], chance.randrange(5), worker)
        chance.shuffle(held)
        ending, held = held[:30], held[30:]
        applied = await one.jobs.apply(changes(ending, chance))
        refused.update(refusal.why for refusal in applied.refused)
        for worker in WORKERS:
            mine = [Lease(job.id, job.attempt) for job in held if job.lease_owner == worker]
            await one.jobs.renew(worker, [lease for lease in mine if chance.random() < 0.5])
        await outsiders(one, chance, ids)
        clock.advance(chance.choice([1, 1_000, 10_000, 45_000]))
        await reap(one)
    # The chance was worth it: late workers were refused, and jobs are in many states.
    assert {"stale", "state"} <= refused.keys()
    assert len(await store.reads.counts()) > 20

    events = await assert_all_clean(store)
    jobs, log = await everything(store)
    assert len(jobs) == JOBS
    assert events == sum(job.version for job in jobs)
    last: dict[str, tuple[int, int]] = {}
    claims: Counter[tuple[str, int]] = Counter()
    for event in log:
        now = (event.attempt, RANK[event.to_state])
        assert last.get(event.job_id, (0, -1)) < now, f"{event.job_id} went back at event {event.seq}"
        last[event.job_id] = now
        row = (event.type, event.to_state)
        if row in {
            ("job_claimed", "assigned"),
            ("job_taken_over", "running"),
            ("job_taken_over", "assigned"),
        }:
            claims[event.job_id, event.attempt] += 1
    assert set(claims.values()) == {1}

    clock.advance(600_000)
    while await reap(store) + await store.jobs.take_over(["default"], 1_000, "w-4"):
        clock.advance(600_000)
    assert await store.upkeep.lost(10) == []
    await assert_all_clean(store)
