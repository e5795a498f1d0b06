"""Claims: lane after lane until there is enough, each in one statement, or gate after gate where a lane has some."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle, Transition
from holdfast.kernel.move import effect_of
from holdfast.observe import transitions
from holdfast.store.database import Driver
from holdfast.store.dialect import START, Dialect, Lane
from holdfast.store.jobs.applying import once
from holdfast.store.jobs.claiming import Lanes, lanes, together
from holdfast.store.jobs.limits import Passed, claim_behind
from holdfast.store.port import Lease
from holdfast.store.read.reads import SqlReads
from holdfast.store.script import Query, Script

WATCHED = 20
"""Lanes that are looked at for when their next job is due; the others' are noticed by the next poll."""

Taken = list[tuple[list[Job], tuple[Transition, ...]]]


class Claimer:
    """Claims for one store, which remembers its lanes. See `holdfast.store.port.Jobs.claim` for the contract."""

    def __init__(self, driver: Driver, tables: Mapping[str, Lifecycle], reads: SqlReads) -> None:
        self._driver = driver
        self._dialect = driver.dialect
        self._tables = tables
        self._reads = reads
        self._lanes = Lanes()
        self.opens_in_s: float | None = None
        """When there may be something to claim, if time alone brings it: a job that becomes due, a gate that opens."""

    @property
    def limited(self) -> bool:
        """Whether jobs wait behind gates, as far as was last seen: then the end of a job may let another through."""
        return any(lane.gate for lane in self._lanes.lanes)

    async def claim(self, queues: Collection[str], limit: int, owner: str, start: bool) -> list[Job]:
        now_s = time.monotonic()
        looked = self._lanes.stale(now_s)
        if looked:
            await self._look(now_s)
        jobs = await self._claim_lanes(queues, limit, owner, start)
        if not jobs and not looked:
            await self._look(time.monotonic())
            jobs = await self._claim_lanes(queues, limit, owner, start)
        if not jobs:
            self._lanes.forget()
            await self._wait_for(self._lanes.order(queues)[:WATCHED])
        return jobs

    async def _wait_for(self, lanes: Sequence[Lane]) -> None:
        """Nothing is due: note when something will be."""
        dues = await self._driver.read(_dues(self._dialect, [lane for lane in lanes if not lane.gate]))
        waits = [due_ms / 1_000 for due_ms in dues if due_ms > 0]
        self.opens_in_s = min([*waits, *(() if self.opens_in_s is None else (self.opens_in_s,))], default=None)

    async def claim_once(self, queues: Collection[str], limit: int, owner: str, start: bool, op_id: str) -> list[Job]:
        """A claim that a repeat under the same op_id does not add to."""
        await self._look(time.monotonic())
        taken: Taken = []
        script = once(self._dialect, op_id, self._take(queues, limit, owner, start, taken), list, list)
        leases = [Lease(*lease) for lease in await self._driver.write(script)]
        for claimed, path in taken:
            transitions.claimed(claimed, path)
        jobs = {job.id: job for job in await self._reads.get_many([lease.job_id for lease in leases])}
        pairs = ((jobs.get(lease.job_id), lease) for lease in leases)
        return [job for job, lease in pairs if job and _holds(job, owner, lease)]

    def _take(self, queues: Collection[str], limit: int, owner: str, start: bool, taken: Taken) -> Script[list[Lease]]:
        """A claim over all lanes as one transaction, without floors."""
        jobs: list[Job] = []
        for lane in self._lanes.order(queues):
            table = self._tables.get(lane.lifecycle)
            if table is not None and len(jobs) < limit:
                path = table.claim_path(lane.state, start=start)
                asked = (path, effect_of(table, path), limit - len(jobs), owner)
                if lane.gate:
                    claimed = (yield from claim_behind(self._dialect, lane, "", *asked)).jobs
                else:
                    claimed = yield from self._dialect.claim(lane, START, *asked)
                taken.append((claimed, path))
                jobs += claimed
        return [Lease(job.id, job.attempt) for job in jobs]

    async def _look(self, began_s: float) -> None:
        found = await self._driver.read(lanes())
        graphs = {name for name, table in self._tables.items() if table.in_graphs}
        self._lanes.looked(together(found, graphs), began_s, time.monotonic())

    async def _claim_lanes(self, queues: Collection[str], limit: int, owner: str, start: bool) -> list[Job]:
        jobs: list[Job] = []
        self.opens_in_s = None
        for lane in self._lanes.order(queues):
            table = self._tables.get(lane.lifecycle)
            if table is None:
                continue  # another process's lifecycle: its jobs are not for us
            path = table.claim_path(lane.state, start=start)
            claim = self._claim_limited if lane.gate else self._claim_lane
            taken = await claim(lane, table, path, limit - len(jobs), owner)
            transitions.claimed(taken, path)
            jobs += taken
            if len(jobs) >= limit:
                break
        return jobs

    async def _claim_lane(
        self, lane: Lane, table: Lifecycle, path: tuple[Transition, ...], limit: int, owner: str
    ) -> list[Job]:
        known_head = self._lanes.heads.get(lane)
        began_s = time.monotonic()
        script = self._dialect.claim(lane, self._lanes.claim_from(lane), path, effect_of(table, path), limit, owner)
        taken = await self._driver.write(script, single=True)
        if lane.up_to is not None:
            return taken
        if known_head is None:
            ended_s = time.monotonic()
            self._lanes.headed(ended_s - began_s, ended_s)
        # A database updates in the order that suits it.
        taken.sort(key=lambda job: (job.due_at_ms, job.id))
        self._lanes.claimed(lane, taken)
        return taken

    async def _claim_limited(
        self, lane: Lane, table: Lifecycle, path: tuple[Transition, ...], limit: int, owner: str
    ) -> list[Job]:
        """Gates take turns: on behind the one that was served last, and round once before giving up."""
        began = after = self._lanes.after_limits.get(lane, "")
        around = False
        while True:
            script = claim_behind(self._dialect, lane, after, path, effect_of(table, path), limit, owner)
            passed: Passed = await self._driver.write(script)
            waits = [wait_s for wait_s in (self.opens_in_s, passed.opens_in_s) if wait_s is not None]
            self.opens_in_s = min(waits, default=None)
            after = self._lanes.after_limits[lane] = passed.after
            if passed.jobs or (around and (not after or after >= began)) or not (after or began):
                return passed.jobs
            around = around or not after


def _dues(dialect: Dialect, lanes: Sequence[Lane]) -> Script[list[int]]:
    found: list[int] = []
    for lane in lanes:
        rows = yield Query("next_due", {**lane._asdict(), "now_ms": dialect.now()})
        found += [row[0] for row in rows]
    return found


def _holds(job: Job, owner: str, lease: Lease) -> bool:
    return job.lease_owner == owner and job.attempt == lease.attempt
