"""The audit's pass over seals: each against the seals before it, and against the events it covers now."""

from __future__ import annotations

from collections.abc import AsyncIterator
from operator import itemgetter

from holdfast.audit.findings import Findings, Progress, Tick
from holdfast.audit.purges import PurgeLog, among
from holdfast.kernel.event import Event, leaf
from holdfast.kernel.log import BEGINNING
from holdfast.kernel.proof.invariants import Violation
from holdfast.kernel.proof.merkle import Accumulator, root
from holdfast.kernel.proof.purge import JOBS, PAYLOADS, Ranges
from holdfast.kernel.proof.seal import NOTHING, Entry, header_leaf, pack, unpack
from holdfast.store.port import Reads, SealRow

SEALS_AT_ONCE = 8
EVENTS_AT_ONCE = 8192
MOST_UNDER_ONE = 65_536
"""More events than this under one seal are not waited for: a changed seal could claim the whole log."""

Records = list[tuple[int, Ranges]]


async def check_seals(reads: Reads, findings: Findings, tick: Tick) -> tuple[int, int]:
    """Every breach of I19, with its job and event; how many seals there are, and how many events await one."""
    return await _Pass(reads, findings, tick).run()


class _Pass:
    def __init__(self, reads: Reads, findings: Findings, tick: Tick) -> None:
        self._reads = reads
        self._findings = findings
        self._tick = tick
        self._purges = PurgeLog(reads)
        self._headers = Accumulator()
        self._whole = True
        self._head = NOTHING
        self._purged = 0
        self._buffer: list[Event] = []
        self._at = 0
        self._read_pos = BEGINNING
        self._gone: set[str] = set()
        self._pruned = 0

    async def run(self) -> tuple[int, int]:
        await self._purges.load(self._findings)
        recorded, self._known = self._purges.pruned_events, self._purges.last
        end = await self._reads.last_seal()
        count = 0
        async for seal in self._seals():
            count += 1
            await self._chain(seal, count)
            count = seal.number
            await self._events(seal)
            self._tick(Progress("seals", seal.last_pos, end.last_pos if end else 0))
        if self._pruned != recorded:
            self._findings.log(
                "conservation", f"{recorded} events are on record as pruned, {self._pruned} sealed ones are gone"
            )
        left = len(self._buffer) - self._at
        return count, left + await self._reads.unsealed(self._read_pos)

    async def _seals(self) -> AsyncIterator[SealRow]:
        number = 0
        while seals := await self._reads.seals(number, SEALS_AT_ONCE):
            for seal in seals:
                yield seal
            number = seals[-1].number

    async def _chain(self, seal: SealRow, expected: int) -> None:
        """The header against the seals before it."""
        if seal.number != expected:
            self._findings.log("I19", f"seal {expected} is missing: the next one is {seal.number}")
            # What the missing seals covered can no longer be told from what was inserted.
            self._buffer, self._at, self._read_pos = [], 0, seal.first_pos - 1
            self._whole = False
        elif seal.previous != self._head:
            self._findings.log("I19", f"seal {seal.number} does not name the head of the seal before it")
        self._headers.append(header_leaf(seal))
        if self._whole and self._headers.root() != seal.head:
            self._findings.log("I19", f"seal {seal.number} was changed: its head does not follow from the seals")
            self._whole = False
        self._head = seal.head
        if seal.purges not in self._purges.numbers:
            await self._purges.load(self._findings)
        purged = self._purges.numbers.get(seal.purges, -1)
        if purged < self._purged:
            self._findings.log("I19", f"the purges that seal {seal.number} knew of are not the recorded ones")
        self._purged = max(purged, self._purged)

    async def _take(self, last_pos: int) -> list[Event]:
        """The events that follow, up to a position."""
        while not self._buffer or self._buffer[-1].pos <= last_pos:
            if len(self._buffer) - self._at > MOST_UNDER_ONE:
                break
            batch = await self._reads.log(self._read_pos, EVENTS_AT_ONCE)
            if not batch:
                break
            self._buffer = self._buffer[self._at :] + batch
            self._at = 0
            self._read_pos = batch[-1].pos
        at = end = self._at
        buffer = self._buffer
        while end < len(buffer) and buffer[end][0] <= last_pos:
            end += 1
        self._at = end
        return buffer[at:end]

    async def _events(self, seal: SealRow) -> None:
        events = await self._take(seal.last_pos)
        leaves = list(map(leaf, events))
        if (
            pack(events, leaves) == seal.manifest
            and root(leaves) == seal.root
            and len(events) == seal.count
            and events[0].pos == seal.first_pos
            and events[-1].pos == seal.last_pos
            and not any(map(itemgetter(12), events))
        ):
            return
        try:
            entries = unpack(seal.manifest or b"")
        except ValueError as error:
            self._findings.log("I19", f"the manifest of seal {seal.number} cannot be read: {error}")
            return
        if not self._fits(seal, entries):
            self._findings.log("I19", f"seal {seal.number} was changed: its root and its manifest do not agree")
        if entries and entries[-1].pos > seal.last_pos:
            more = await self._take(entries[-1].pos)
            events, leaves = events + more, leaves + list(map(leaf, more))
        await self._compare(entries, events, leaves)

    def _fits(self, seal: SealRow, entries: list[Entry]) -> bool:
        positions = [entry.pos for entry in entries]
        return (
            root([entry.leaf for entry in entries]) == seal.root
            and len(entries) == seal.count
            and positions == sorted(set(positions))
            and bool(entries)
            and positions[0] == seal.first_pos
            and positions[-1] == seal.last_pos
        )

    async def _compare(self, entries: list[Entry], events: list[Event], leaves: list[bytes]) -> None:
        live = {event.pos: (event, made) for event, made in zip(events, leaves, strict=True)}
        low, high = (entries[0].pos, entries[-1].pos) if entries else (0, 0)
        missing = [entry for entry in entries if entry.pos not in live]
        if missing:
            await self._missing(missing, low, high)
        blanked: Records | None = None
        for entry in entries:
            event, made = live.pop(entry.pos, (None, b""))
            if event is None:
                continue
            if event.payload_digest is not None and event.payload is None and blanked is None:
                await self._purges.load(self._findings)
                blanked = await self._purges.covering(PAYLOADS, low, high)
            if (wrong := _differs(entry, event, made, blanked or [])) is not None:
                self._say(entry.job_id, entry.seq, entry.pos, wrong)
        for event, _ in live.values():
            self._say(event.job_id, event.seq, event.pos, "was inserted")

    async def _missing(self, missing: list[Entry], low: int, high: int) -> None:
        """Leaves without an event: pruned and on record, or removed by hand."""
        records = await self._purges.covering(JOBS, low, high)
        if any(among(entry.pos, records) is None for entry in missing):
            # It may have been pruned since the records were read.
            await self._purges.load(self._findings)
            records = await self._purges.covering(JOBS, low, high)
        for entry in missing:
            number = among(entry.pos, records)
            if number is not None:
                self._pruned += number <= self._known
            elif entry.job_id not in self._gone and not await self._is_gone(entry.job_id):
                self._say(entry.job_id, entry.seq, entry.pos, "was removed")

    async def _is_gone(self, job_id: str) -> bool:
        if await self._reads.get(job_id) is not None or await self._reads.events(job_id):
            return False
        if len(self._gone) < self._findings.most:
            self._gone.add(job_id)
        self._findings.add(Violation("I19", job_id, None, "the job is gone: its row and all its events were removed"))
        return True

    def _say(self, job_id: str, seq: int, pos: int, what: str) -> None:
        self._findings.add(Violation("I19", job_id, seq, f"the event at position {pos} {what}"))


def _differs(entry: Entry, event: Event, made: bytes, blanked: Records) -> str | None:
    """What is wrong with an event that stands where a leaf was sealed; None when it is the one."""
    if made != entry.leaf:
        other = "" if event.job_id == entry.job_id else f", and says that it is of job {event.job_id}"
        return f"is not the one that was sealed{other}"
    if (event.job_id, event.seq) != (entry.job_id, entry.seq):
        return "is another one in the seal's manifest"
    if event.payload_digest is None:
        return None
    if event.payload is not None:
        return "was changed: the digest of a purged payload stands beside its payload"
    return None if among(event.pos, blanked) is not None else "lost its payload, and no purge is on record"
