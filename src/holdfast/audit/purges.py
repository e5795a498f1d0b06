"""What retention removed, as the audit needs it: the records checked, and the removed positions looked up."""

from __future__ import annotations

from collections import OrderedDict

from holdfast.audit.findings import Findings
from holdfast.kernel.proof.purge import JOBS, Ranges, purge_digest
from holdfast.kernel.proof.seal import NOTHING
from holdfast.store.port import PurgeRow, Reads

PAGE = 20
CACHED = 32
"""Records whose ranges are held at once: a pruner's batches lie close together."""


class PurgeLog:
    """The records of the purge table. Holds their windows, and reads their ranges when they are needed."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._windows: list[PurgeRow] = []
        self._ranges: OrderedDict[int, Ranges] = OrderedDict()
        self._digest = NOTHING
        self.numbers: dict[bytes, int] = {NOTHING: 0}
        """Running digest → the number of the record that it follows."""
        self.pruned_events = 0

    @property
    def last(self) -> int:
        return self._windows[-1].number if self._windows else 0

    async def load(self, findings: Findings | None = None) -> None:
        """Take in the records behind the last known one, and check them where findings are wanted."""
        while rows := await self._reads.purges(self.last, PAGE):
            for row in rows:
                if findings is not None:
                    self._check(row, findings)
                self._digest = row.digest
                self.numbers[row.digest] = row.number
                self._windows.append(row._replace(ranges=""))
                self.pruned_events += row.events if row.kind == JOBS else 0

    def _check(self, row: PurgeRow, findings: Findings) -> None:
        if row.number != self.last + 1:
            findings.log("I19", f"purge record {self.last + 1} is missing: the next one is {row.number}")
        if purge_digest(self._digest, *row[:-1]) != row.digest:
            findings.log("I19", f"purge record {row.number} was changed: its digest does not follow")
        try:
            count = Ranges(row.ranges).count
        except ValueError:
            count = -1
        if count != row.events:
            findings.log("I19", f"purge record {row.number} says {row.events} events, but lists {max(count, 0)}")

    async def covering(self, kind: str, low: int, high: int) -> list[tuple[int, Ranges]]:
        """The records of this kind that reach into these positions, with their numbers."""
        found = []
        for window in self._windows:
            if window.kind == kind and window.first_pos <= high and window.last_pos >= low:
                found.append((window.number, await self._ranges_of(window.number)))
        return found

    async def _ranges_of(self, number: int) -> Ranges:
        ranges = self._ranges.pop(number, None)
        if ranges is None:
            rows = await self._reads.purges(number - 1, 1)
            try:
                ranges = Ranges(rows[0].ranges)
            except (ValueError, IndexError):
                ranges = Ranges("[]")
            while len(self._ranges) >= CACHED:
                self._ranges.popitem(last=False)
        self._ranges[number] = ranges
        return ranges


def among(pos: int, records: list[tuple[int, Ranges]]) -> int | None:
    """The number of the record that lists a position."""
    return next((number for number, ranges in records if pos in ranges), None)
