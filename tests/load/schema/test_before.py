"""A database of before jobs had places goes on as it was: `before/` has one of each kind, as its own code filled it and
read it again.

Jobs of every state, retried, lost, dead-lettered, under leases and behind a gate, flows and pipelines; some removed,
bodies too; seals and certificates. The places of the events go past 4096.
"""

import json
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from holdfast.audit.auditor import audit
from holdfast.audit.certificates import prove
from holdfast.audit.verdict import verify
from holdfast.catalog import BUILT_IN
from holdfast.chores.sealer import Sealer
from holdfast.kernel import decisions
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.job import Job
from holdfast.kernel.log import SPAN
from holdfast.kernel.move import Change, move
from holdfast.kernel.outcome import Done
from holdfast.kernel.settle import expired, lost, settle
from holdfast.store import migrate as migrating
from holdfast.store.port import Ask, Lease, Planned, Store
from holdfast.store.statements import migrations
from tests.load.sites import Site, specs

BEFORE = Path(__file__).with_name("before")
PLACES = "0012_places"
HOUR_MS = 3_600_000
WEEK_MS = 7 * 24 * HOUR_MS
MONDAY_MS = 1_793_577_600_000
"""Of a week that had a partition of its own; what came later went elsewhere."""


def said(site: Site) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((BEFORE / f"{site.kind}.json").read_text())
    return found


async def filled(site: Site, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of then, with what was in them."""
    with monkeypatch.context() as then:
        then.setattr(migrating, "migrations", lambda kind: [one for one in migrations(kind) if one[0] < PLACES])
        await store.migrate()
    if site.kind == "postgres":
        await execute(
            site, f"SELECT holdfast_add_partition('holdfast_event_2026w45', {MONDAY_MS}, {MONDAY_MS + WEEK_MS})"
        )
    await execute(site, (BEFORE / f"{site.kind}.sql").read_text())


async def execute(site: Site, text: str) -> None:
    if site.kind == "sqlite":
        connection = sqlite3.connect(site.address)
        connection.executescript(text)
        connection.close()
        return
    there = await asyncpg.connect(site.address)
    await there.execute(text)
    await there.close()


@dataclass
class Moved:
    """A database of before, as it is now; its clock stands where its last job was submitted."""

    site: Site
    before: dict[str, Any]
    now_ms: int
    store: Store

    async def jobs(self) -> list[Job]:
        return [job async for batch in self.store.reads.all_jobs() for job in batch]

    async def job(self, task: str) -> Job:
        [job] = [job for job in await self.jobs() if job.task == task]
        return job

    async def end(self, *jobs: Job) -> None:
        applied = await self.store.jobs.apply([success(job) for job in jobs])
        assert applied.refused == []


@pytest_asyncio.fixture
async def moved(empty_site: Site, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Moved]:
    before = said(empty_site)
    made = Moved(empty_site, before, before["now_ms"], store := empty_site.open(clock=lambda: made.now_ms))
    await filled(empty_site, store, monkeypatch)
    assert PLACES in await store.migrate()
    yield made
    await store.close()


def plain(row: tuple[Any, ...]) -> list[Any]:
    return [value.hex() if isinstance(value, bytes) else value for value in row]


def success(job: Job) -> Change:
    path, one = settle(BUILT_IN[job.lifecycle], job, Done('{"after":1}'))
    return Change(BUILT_IN[job.lifecycle], path, job.lease_owner or "", [one], job.lease_owner)


async def test_jobs_events_and_seals_are_what_they_were(moved: Moved) -> None:
    reads, before = moved.store.reads, moved.before
    jobs = await moved.jobs()
    assert [plain(job) for job in jobs] == before["jobs"]
    assert len(jobs) > 100
    for job in jobs:
        assert [plain(event[:15]) for event in await reads.events(job.id)] == before["events"][job.id]
    log = [plain(event[:15]) for event in await reads.log(0, 10_000)]
    assert log == sorted(event for events in before["events"].values() for event in events)
    assert log[0][0] < SPAN < log[-1][0]
    feed, followed = moved.store.log.feed(), []
    while events := await feed.next():
        followed += [plain(event[:15]) for event in events]
    assert followed == log
    assert [plain(seal) for seal in await reads.seal_headers()] == before["seals"]
    end = await moved.store.log.end()
    assert log[-1][0] <= end
    assert end % SPAN == SPAN - 1, "what comes next stands behind it"
    assert await reads.log(log[5][0], 3) == (await reads.log(0, 9))[6:]
    assert await reads.totals() == (len(jobs), len(jobs))


async def test_what_was_proven_is_proven(moved: Moved) -> None:
    report = await audit(moved.site.address, processes=False)
    assert report.violations == []
    before = moved.before
    assert (report.jobs, report.events) == (len(before["jobs"]), sum(map(len, before["events"].values())))
    assert before["certificates"]
    for job_id, certificate in before["certificates"].items():
        assert verify(certificate).ok
        assert json.loads(json.dumps(await prove(moved.store, job_id))) == certificate


async def test_a_plan_counts_what_would_move(empty_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    store = empty_site.open()
    await filled(empty_site, store, monkeypatch)
    before = said(empty_site)
    events = sum(map(len, before["events"].values()))
    later = [name for name, _ in migrations(empty_site.kind) if name > PLACES]
    expected = [Planned(PLACES, len(before["jobs"]), events, 1), *(Planned(name, 0, 0, 0) for name in later)]
    assert await store.plan() == await store.plan() == expected
    await store.migrate()
    assert await store.plan() == []
    await store.close()


async def test_what_was_damaged_moves_and_is_found(empty_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    before = said(empty_site)
    store = empty_site.open(clock=lambda: before["now_ms"])
    await filled(empty_site, store, monkeypatch)
    jobs = [job_id for job_id, events in before["events"].items() if len(events) > 3]
    no_first, no_third, no_events, no_row = jobs[:4]
    held = next(job[0] for job in before["jobs"] if job[2] == "task.again")
    await execute(
        empty_site,
        f"""
        DELETE FROM holdfast_event WHERE job_id = '{no_first}' AND seq = 1;
        DELETE FROM holdfast_event WHERE job_id = '{no_third}' AND seq = 3;
        DELETE FROM holdfast_event WHERE job_id IN ('{no_events}', '{held}');
        DELETE FROM holdfast_job WHERE id = '{no_row}';
        """,
    )
    await store.migrate()
    left = {tuple(event[:3]) for events in before["events"].values() for event in events}
    left -= {tuple(before["events"][no_first][0][:3]), tuple(before["events"][no_third][2][:3])}
    left -= {tuple(event[:3]) for job_id in (no_events, held) for event in before["events"][job_id]}
    assert {event[:3] for event in await store.reads.log(0, 10_000)} == left
    assert [event.seq for event in await store.reads.events(no_third)][:3] == [1, 2, 4]
    assert {job.id async for batch in store.reads.all_jobs() for job in batch} == before["events"].keys() - {no_row}
    report = await audit(empty_site.address, processes=False)
    assert {one.job_id for one in report.violations} >= {no_first, no_third, no_events, no_row, held}
    await store.close()


async def test_runs_of_then_end(moved: Moved) -> None:
    store = moved.store
    again = await moved.job("task.again")
    moved.now_ms = again.changed_at_ms + 1_000
    one, *others = held = [job for job in await moved.jobs() if job.lease_owner == "worker-3"]
    assert len(held) == 4
    leases = [Lease(job.id, job.attempt) for job in others]
    assert await store.jobs.renew("worker-3", leases) == []
    assert (await store.jobs.apply(move(DURABLE, [one], "start", actor="worker-3", owner="worker-3"))).refused == []
    gated = [job for job in await moved.jobs() if job.task == "gated" and job.lease_owner]
    assert await store.jobs.claim(["gated"], 5, "worker-9") == [], "the one before them is still at work"
    moved.now_ms = gated[0].changed_at_ms + 1_000
    await moved.end(*gated)
    assert len(await store.jobs.claim(["gated"], 5, "worker-9")) == 1
    moved.now_ms = again.changed_at_ms + 2_000
    await moved.end(again)
    ended = await store.reads.get(again.id)
    assert ended is not None
    assert (ended.state, ended.version, ended.outcome) == ("succeeded", again.version + 1, '{"result":{"after":1}}')
    for mode in ("soft", "hard"):
        asked = await moved.job(f"task.asked_{mode}")
        assert [stand.asked for stand in await store.jobs.stand([asked.id])] == [mode]
    await _is_sound(moved)


async def test_what_waited_is_worked_off(moved: Moved) -> None:
    store = moved.store
    late = await store.upkeep.lost(1_000)
    assert "task.lapsed" in {job.task for job in late}
    for job in late:
        path, one = lost(BUILT_IN[job.lifecycle], job)
        applied = await store.jobs.apply([Change(BUILT_IN[job.lifecycle], path, "reaper", [one])])
        assert applied.refused == []
    for job in await store.upkeep.expired(1_000):
        path, one = expired(BUILT_IN[job.lifecycle], job)
        await store.jobs.apply([Change(BUILT_IN[job.lifecycle], path, "expirer", [one])])
    [flow] = [job for job in await moved.jobs() if job.lifecycle == "flow" and job.state == "cancelled"]
    await store.jobs.change([flow.id], decisions.resume("after all"), Ask())
    again = await store.jobs.submit(specs(1, key="one", key_scope="keyed"))
    assert [one.created for one in again] == [False], "the key is held by a job of then"
    moved.now_ms += 24 * HOUR_MS
    queues = {job.queue for job in await moved.jobs()}
    while claimed := await store.jobs.claim(queues, 100, "worker-9"):
        await moved.end(*claimed)
    left = [job for job in await moved.jobs() if job.ready]
    assert left == []
    resumed = await store.reads.get(flow.id)
    assert resumed is not None
    assert resumed.state == "succeeded"
    await _is_sound(moved)


async def test_retention_removes_what_was_before(moved: Moved) -> None:
    ended = [job.id for job in await moved.jobs() if job.finished_at_ms and job.lifecycle == "durable"]
    assert await moved.store.upkeep.purge_payloads(ended[:3])
    assert await moved.store.upkeep.prune(ended[3:])
    assert {job.id for job in await moved.jobs()}.isdisjoint(ended[3:])
    await _is_sound(moved)


async def _is_sound(moved: Moved) -> None:
    """The log goes on behind what it was, and all of it is sealed."""
    await moved.store.jobs.submit(specs(2))
    [*_, newest] = await moved.store.reads.log(0, 10_000)
    assert newest.pos % SPAN == 0
    assert newest.pos > max(event[0] for events in moved.before["events"].values() for event in events)
    assert await Sealer(moved.store).seal_all()
    report = await audit(moved.site.address, processes=False)
    assert (report.violations, report.unsealed) == ([], 0)
    for job_id, certificate in moved.before["certificates"].items():
        assert verify(certificate).ok
        if await moved.store.reads.get(job_id):
            assert verify(await prove(moved.store, job_id)).ok
