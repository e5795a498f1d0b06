"""The audit's pass over jobs: every job against its events, keys and dead letters, and the count of them all.

Each job comes with its events, which the log's rows lead back to from where it stands. What they do not lead to is
noticed by its number, and looked for only then. The database lives on meanwhile: what looks wrong is read again, as it
stood at one moment, before it is reported.
"""

from __future__ import annotations

from itertools import pairwise

from holdfast.audit.findings import Findings, Progress, Tick
from holdfast.audit.flows import check_flows
from holdfast.audit.purges import PurgeLog, among
from holdfast.audit.strays import Strays
from holdfast.audit.trails import TrailInspector
from holdfast.kernel.job import Job
from holdfast.kernel.policy import KeyHold
from holdfast.kernel.proof.invariants import Violation
from holdfast.kernel.proof.purge import PAYLOADS
from holdfast.kernel.proof.replay import payload_of
from holdfast.store.port import Reads, Trail

JOBS_AT_ONCE = 4000
LOOKS = 20


async def check_jobs(reads: Reads, findings: Findings, tick: Tick) -> tuple[int, int]:
    """Every breach of I1–I14 that the jobs show, and whether they add up; how many jobs and events there are."""
    one = _Pass(reads, findings, tick)
    await one.start()
    await one.walk()
    await one.keys()
    for invariant, problems in (("I3", await reads.misplaced()), ("I13", await reads.dead_mismatches())):
        findings.add(*(Violation(invariant, job_id, None, problem) for job_id, problem in problems))
    await check_flows(reads, findings)
    return one.jobs, one.events


class _Pass:
    def __init__(self, reads: Reads, findings: Findings, tick: Tick) -> None:
        self._reads = reads
        self._findings = findings
        self._tick = tick
        self._purges = PurgeLog(reads)
        self.jobs = 0
        self.events = 0

    async def start(self) -> None:
        self._tables = await self._reads.lifecycles()
        self._inspector = TrailInspector(self._tables)
        self._strays = Strays(self._reads, self._inspector, self._findings)
        await self._purges.load()
        self._total, _ = await self._reads.totals()

    async def walk(self) -> None:
        inspect = self._inspector.breaches
        await self._strays.begin()
        async for trails in self._reads.trails(batch=JOBS_AT_ONCE):
            blanked = []
            for trail in trails:
                job, events = trail.job, trail.events
                if inspect(trail):
                    await self._confirm(trail)
                if (job.payload_digest or job.outcome_digest) and events:
                    blanked.append((job.id, events[0].pos))
                self.events += len(events)
                self._strays.count(trail)
            if blanked:
                await self._recorded(blanked)
            self.jobs += len(trails)
            self._tick(Progress("jobs", self.jobs, self._total))
        self.events += await self._strays.end()

    async def _confirm(self, trail: Trail) -> None:
        """Look again until the job held still while its events were read; report what is still wrong then."""
        for _ in range(LOOKS):
            found = await self._reads.trails_of([trail.job.id])
            if not found:
                return
            [trail] = found
            if trail.job == await self._reads.get(trail.job.id):
                break
        wrong = self._inspector.breaches(trail)
        if wrong and not self._strays.torn(trail):
            self._findings.add(*wrong)

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
