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
from holdfast.store.port import Origin
from holdfast.store.script import Query, Script, rows_of

if TYPE_CHECKING:
    from holdfast.store.database import Driver


class FeedReader:
    def __init__(self, driver: Driver, after: int) -> None:
        self.position = after
        self._driver = driver
        self._settled = after
        self._mark: tuple[int, int] | None = None  # a transaction id, and the position that it will settle
        self._alone = driver.dialect.name == "sqlite"

    async def next(self, limit: int = 1000) -> list[Event]:
        rows = await self._driver.read(rows_of("feed", {"after": self.position, "limit": limit}))
        if not rows:
            return []
        xmin = rows[0][0]
        events = [Event._make(row[1:]) for row in rows]
        if not self._alone:
            if self._mark and xmin >= self._mark[0]:
                self._settled, self._mark = self._mark[1], None
            safe = self._safe(events)
            if safe < len(events) and self._mark is None:
                [self._mark] = await self._driver.read(rows_of("feed_mark"))
            events = events[:safe]
        if events:
            self.position = events[-1].pos
        return events

    def _safe(self, events: list[Event]) -> int:
        """How many of these events may be passed on."""
        expected = self.position + 1
        for i, event in enumerate(events):
            if event.pos != expected and event.pos > self._settled:
                return i
            expected = event.pos + 1
        return len(events)


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
    [(high, count)] = yield Query("log_end", {"after": sealed})
    return int(high) if alone or high - sealed == count else int(sealed)
