"""Events that no way leads to from where their jobs stand: noticed by their number, looked for only then.

Whatever the rows of the log lead to is in the log, and each part of it once. So nothing is astray where both count the
same; a database that retention empties meanwhile may count otherwise, and then a look at the log decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.audit.findings import Findings
from holdfast.audit.trails import TrailInspector
from holdfast.kernel.event import Event
from holdfast.kernel.log import BEGINNING
from holdfast.kernel.proof.invariants import Violation
from holdfast.store.port import Reads, Trail

EVENTS_AT_ONCE = 8192


class Found(NamedTuple):
    """What the log holds of a job past what its rows lead to."""

    job_id: str
    events: list[Event]


class Strays:
    def __init__(self, reads: Reads, inspector: TrailInspector, findings: Findings) -> None:
        self._reads = reads
        self._inspector = inspector
        self._findings = findings
        self._torn: set[str] = set()
        self._known = 0

    async def begin(self) -> None:
        self._upto = await self._reads.last_pos()
        self._parts = await self._reads.parts_upto(self._upto)

    def count(self, trail: Trail) -> None:
        links = trail.links
        if links and links[-1].pos > self._upto:
            self._known += sum(link.pos <= self._upto for link in links)
        else:
            self._known += len(links)

    def torn(self, trail: Trail) -> bool:
        """Whether a job's events are not all there, and are to be looked for before anything is said of it."""
        whole = len(trail.events) == trail.job.version and trail.stands_at is not None
        if whole or len(self._torn) >= self._findings.most:
            return False
        self._torn.add(trail.job.id)
        return True

    async def end(self) -> int:
        """Look for what is astray, if anything is; how many events that was."""
        if not self._torn and self._known == self._parts == await self._reads.parts_upto(self._upto):
            return 0
        astray: dict[str, list[Event]] = {job_id: [] for job_id in self._torn}
        pos, count = BEGINNING, 0
        while events := await self._reads.log(pos, EVENTS_AT_ONCE):
            pos = events[-1].pos
            for found in await self._past(events):
                count += len(found.events)
                if found.job_id in astray or len(astray) < self._findings.most:
                    astray.setdefault(found.job_id, []).extend(found.events)
                else:
                    self._findings.total += 1
        for job_id, events in astray.items():
            await self._report(job_id, events)
        return count

    async def _past(self, events: Sequence[Event]) -> list[Found]:
        """Of these events, those that no way leads to."""
        by_job: dict[str, list[Event]] = {}
        for event in events:
            by_job.setdefault(event.job_id, []).append(event)
        trails = {trail.job.id: trail for trail in await self._reads.trails_of(by_job)}
        found = []
        for job_id, own in by_job.items():
            known = {event.pos for event in trails[job_id].events} if job_id in trails else set()
            if past := [event for event in own if event.pos not in known]:
                found.append(Found(job_id, past))
        return found

    async def _report(self, job_id: str, events: list[Event]) -> None:
        # Retention may have removed them since, and the job may have gone on.
        events = [event for event in events if event in await self._reads.log(event.pos - 1, 1)]
        trails = await self._reads.trails_of([job_id])
        if not trails:
            if events:
                self._findings.add(*self._inspector.job(None, events))
            return
        [trail] = trails
        known = {event.pos for event in trail.events}
        events = [event for event in events if event.pos not in known]
        if not events:
            self._findings.add(*self._inspector.breaches(trail))
            return
        merged = sorted([*trail.events, *events], key=lambda event: (event.seq, event.pos))
        nowhere = [
            Violation("I3", job_id, event.seq, f"no row of the log leads to the event at position {event.pos}")
            for event in events
        ]
        self._findings.add(*(self._inspector.job(trail.job, merged) or nowhere))
