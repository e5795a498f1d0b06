"""A reader of the log that cannot miss a late commit.

Positions are given out before they commit, so a reader may see 7 while 6 is still under way. At a gap the
reader takes a transaction id of its own: whoever was given a lower position had an older one before. Once all
of these have ended, what is missing was never written. Up to that mark gaps are passed; above it the reader
goes only as far as the positions are dense. (The snapshot's xmax will not do: one above it may be under way.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.kernel.event import Event
from holdfast.kernel.log import SPAN, LogRow
from holdfast.store.port import Origin
from holdfast.store.read.rows import ROWS, later, more_rows, traced
from holdfast.store.script import Query, Script, rows_of

if TYPE_CHECKING:
    from holdfast.store.database import Driver


class FeedReader:
    def __init__(self, driver: Driver, after: int) -> None:
        self.position = after
        self._driver = driver
        self._alone = driver.dialect.name == "sqlite"
        self._row = after - after % SPAN - 1
        """All rows up to here were read; `after` may be in the middle of the next one."""
        self._settled = 0
        self._mark: tuple[int, int] | None = None  # a transaction id, and the row that it will settle
        self._left: list[Event] = []
        self._many = ROWS

    async def next(self, limit: int = 1000) -> list[Event]:
        while len(self._left) < limit and await self._read():
            pass
        events, self._left = self._left[:limit], self._left[limit:]
        if events:
            self.position = events[-1].pos
        return events

    async def _read(self) -> bool:
        """Read on; whether there may be more."""
        events, rows, safe = await self._driver.read(self._script())
        self._left += events
        if safe < rows and self._mark is None:
            [self._mark] = await self._driver.read(rows_of("feed_mark"))
            return True  # what was under way may have ended by now
        full = rows == safe == self._many
        self._many = more_rows(len(events)) if full else ROWS
        return full

    def _script(self) -> Script[tuple[list[Event], int, int]]:
        dialect = self._driver.dialect
        found = yield Query("feed", {"after": self._row, "limit": self._many})
        rows = [dialect.row(row[1:]) for row in found]
        if found and self._mark and found[0][0] >= self._mark[0]:
            self._settled, self._mark = self._mark[1], None
        safe = len(rows) if self._alone else self._safe(rows)
        events = yield from traced(dialect, list(later(rows[:safe], self.position)))
        if safe:
            self._row = rows[safe - 1].pos
        return events, len(rows), safe

    def _safe(self, rows: list[LogRow]) -> int:
        """How many of these rows may be passed on."""
        expected = max(self._row - self._row % SPAN + SPAN, SPAN)
        for i, row in enumerate(rows):
            # What stands between the places of rows was moved here from elsewhere, all at once.
            if row.pos != expected and row.pos > self._settled and not row.pos % SPAN:
                return i
            expected = row.pos - row.pos % SPAN + SPAN
        return len(rows)


class SqlLog:
    """See `holdfast.store.port.Log`."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def feed(self, after: int = 0) -> FeedReader:
        return FeedReader(self._driver, after)

    async def end(self) -> int:
        """Everything sealed was followed, gaps and all. Behind the last seal a gap may be a position that is under
        way; without one there is nothing under way below the highest.
        """
        return await self._driver.read(_end(alone=self._driver.dialect.name == "sqlite"))

    async def origins(self, job_ids: Sequence[str]) -> dict[str, Origin]:
        rows = await self._driver.read(rows_of("origins", {"ids": self._driver.dialect.array(job_ids)}))
        return {row[0]: Origin(*row[1:]) for row in rows}


def _end(*, alone: bool) -> Script[int]:
    [(sealed,)] = yield Query("sealed_pos")
    row = sealed - sealed % SPAN
    [(high, count)] = yield Query("log_end", {"after": row})
    if not high:
        return 0
    return max(int(high) + SPAN - 1, sealed) if alone or high - row == count * SPAN else int(sealed)
