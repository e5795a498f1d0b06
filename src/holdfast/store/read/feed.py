"""A reader of the log that cannot miss a late commit.

Positions are given out before they commit, so a reader may see 7 while 6 is still under way. At a gap the
reader takes a transaction id of its own: whoever was given a lower position had an older one before. Once all
of these have ended, what is missing was never written. Up to that mark gaps are passed; above it the reader
goes only as far as the positions are dense. (The snapshot's xmax will not do: one above it may be under way.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.kernel.event import Event
from holdfast.store.script import Query, Script

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
        rows = await self._driver.read(_read(self.position, limit))
        if not rows:
            return []
        xmin = rows[0][0]
        events = [Event._make(row[1:]) for row in rows]
        if not self._alone:
            if self._mark and xmin >= self._mark[0]:
                self._settled, self._mark = self._mark[1], None
            safe = self._safe(events)
            if safe < len(events) and self._mark is None:
                [self._mark] = await self._driver.read(_mark())
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


def _read(after: int, limit: int) -> Script[list[Any]]:
    rows = yield Query("feed", {"after": after, "limit": limit})
    return rows


def _mark() -> Script[list[Any]]:
    rows = yield Query("feed_mark")
    return rows
