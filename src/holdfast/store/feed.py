"""A reader of the log that cannot miss a late commit.

Positions are given out before they commit, so a reader may see 7 while 6 is still under way. A position is
settled once every transaction that was under way when a higher one was seen has ended: whatever is missing
then was never written. Below the settled mark gaps are passed; above it the reader goes only as far as the
positions are dense.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.kernel.event import Event
from holdfast.store.script import Query, Script

if TYPE_CHECKING:
    from holdfast.store.sql_store import Driver


class FeedReader:
    def __init__(self, driver: Driver, after: int) -> None:
        self.position = after
        self._driver = driver
        self._settled = after
        self._mark: tuple[int, int] | None = None
        self._alone = driver.dialect.name == "sqlite"

    async def next(self, limit: int = 1000) -> list[Event]:
        rows = await self._driver.read(_read(self.position, limit))
        if not rows:
            return []
        xmin, xmax, high = rows[0][:3]
        events = [Event._make(row[3:]) for row in rows]
        if not self._alone:
            self._settle(xmin, xmax, high)
            events = events[: self._safe(events)]
        if events:
            self.position = events[-1].pos
        return events

    def _settle(self, xmin: int, xmax: int, high: int) -> None:
        if self._mark is None:
            self._mark = (xmax, high)
        elif xmin >= self._mark[0]:
            self._settled = self._mark[1]
            self._mark = (xmax, high)

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
