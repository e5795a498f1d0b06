"""The audit's pass over jobs: every job against its events, keys and dead letters, and the count of them all.

Jobs and events are two streams in the order of the job's id, merged. The database lives on meanwhile: what
looks wrong is read again, row and events as they stood at one moment, before it is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from holdfast.audit.findings import Findings, Progress, Tick
from holdfast.audit.flows import check_flows
from holdfast.audit.purges import PurgeLog, among
from holdfast.kernel.event import Event
from holdfast.kernel.job import Job, is_id
from holdfast.kernel.policy import KeyHold
from holdfast.kernel.proof.invariants import Inspector, Violation
from holdfast.kernel.proof.purge import PAYLOADS
from holdfast.kernel.proof.replay import payload_of
from holdfast.store.port import Reads

JOBS_AT_ONCE = 4000
EVENTS_AT_ONCE = 16_000
LOOKS = 20


async def check_jobs(reads: Reads, findings: Findings, tick: Tick) -> tuple[int, int]:
    """Every breach of I1–I14 that the jobs show, and whether they add up; how many jobs and events there are."""
    one = _Pass(reads, findings, tick)
    await one.start()
    await one.merge()
    await one.keys()
    for job_id, problem in await reads.dead_mismatches():
        findings.add(Violation("I13", job_id, None, problem))
    await check_flows(reads, findings)
    return one.jobs, one.events


class _Pass:
    def __init__(self, reads: Reads, findings: Findings, tick: Tick) -> None:
        self._reads = reads
        self._findings = findings
        self._tick = tick
        self._purges = PurgeLog(reads)
        self._stream = reads.all_events(batch=EVENTS_AT_ONCE)
        self._buffer: list[Event] = []
        self._at = 0
        self._more = True
        self.jobs = 0
        self.events = 0

    async def start(self) -> None:
        self._tables = await self._reads.lifecycles()
        self._inspector = Inspector(self._tables)
        await self._purges.load()
        self._total, started = await self._reads.totals()
        if self._total != started:
            self._findings.log("conservation", f"{started} jobs were submitted, {self._total} are there")

    async def merge(self) -> None:
        inspect = self._inspector.job
        async for jobs in self._reads.all_jobs(batch=JOBS_AT_ONCE):
            blanked = []
            for job in jobs:
                events = self._slice(job) or await self._search(job.id)
                if inspect(job, events):
                    await self._confirm(job.id, job, events)
                if (job.payload_digest or job.outcome_digest) and events:
                    blanked.append((job.id, events[0].pos))
            if blanked:
                await self._recorded(blanked)
            self.jobs += len(jobs)
            self._tick(Progress("jobs", self.jobs, self._total))
        while self._at < len(self._buffer) or await self._fetch():
            await self._orphans(self._buffer[-1].job_id + "~")

    def _slice(self, job: Job) -> list[Event] | None:
        """The job's events when they lie in the buffer exactly as its version says: the usual case."""
        buffer, at, job_id = self._buffer, self._at, job.id
        end = at + job.version
        if at < end < len(buffer) and buffer[at][1] == job_id == buffer[end - 1][1] != buffer[end][1]:
            self._at = end
            self.events += end - at
            return buffer[at:end]
        return None

    async def _search(self, job_id: str) -> list[Event]:
        while (not self._buffer or self._buffer[-1].job_id <= job_id) and await self._fetch():
            pass
        await self._orphans(job_id)
        at = end = self._at
        while end < len(self._buffer) and self._buffer[end].job_id == job_id:
            end += 1
        self._at = end
        self.events += end - at
        return self._buffer[at:end]

    async def _orphans(self, before: str) -> None:
        """Report the events in the buffer whose job, before this id, has no row."""
        while self._at < len(self._buffer) and self._buffer[self._at].job_id < before:
            at, job_id = self._at, self._buffer[self._at].job_id
            while self._at < len(self._buffer) and self._buffer[self._at].job_id == job_id:
                self._at += 1
            self.events += self._at - at
            await self._confirm(job_id, None, self._buffer[at : self._at])

    async def _fetch(self) -> bool:
        batch = await anext(self._stream, None) if self._more else None
        self._more = batch is not None
        if batch is not None:
            self._buffer = self._buffer[self._at :] + batch
            self._at = 0
        return self._more

    async def _confirm(self, job_id: str, job: Job | None, events: Sequence[Event]) -> None:
        """Look again until the row held still while its events were read; report what is still wrong then."""
        for _ in range(LOOKS if is_id(job_id) else 0):
            job = await self._reads.get(job_id)
            events = await self._reads.events(job_id)
            if job == await self._reads.get(job_id):
                break
        if job is not None or events:
            self._findings.add(*self._inspector.job(job, events))

    async def _recorded(self, blanked: list[tuple[str, int]]) -> None:
        """Bodies that are gone must be on record as purged."""
        low, high = min(pos for _, pos in blanked), max(pos for _, pos in blanked)
        await self._purges.load()
        records = await self._purges.covering(PAYLOADS, low, high)
        for job_id, pos in blanked:
            if among(pos, records) is None:
                message = "its payload or outcome was removed, and no purge is on record"
                self._findings.add(Violation("I19", job_id, None, message))

    async def keys(self) -> None:
        shared: dict[tuple[str, str], list[str]] = {}
        for scope, key, job_id in await self._reads.live_keys_twice():
            shared.setdefault((scope, key), []).append(job_id)
        for (scope, key), job_ids in shared.items():
            found = await self._reads.get_many(job_ids)
            live = sorted((j for j in found if j.finished_at_ms is None), key=lambda j: (j.created_at_ms, j.id))
            for first, second in pairwise(live):
                if not await self._may_pass(first, second):
                    message = f"key {key!r} of scope {scope!r} is also held by job {first.id}"
                    self._findings.add(Violation("I11", second.id, None, message))

    async def _may_pass(self, first: Job, second: Job) -> bool:
        """A key that is held for a window passes on when it is over, whether its job has ended or not."""
        table = self._tables.get(second.lifecycle)
        if table is None or table.policies.key_hold is not KeyHold.WINDOW:
            return False
        payloads = [payload_of(event) for event in (await self._reads.events(second.id))[:1]]
        window_ms = payloads[0].get("key_window_ms") if payloads else None
        if not isinstance(window_ms, int):
            window_ms = table.policies.key_window_ms or 0
        return second.created_at_ms - first.created_at_ms >= window_ms
