"""The log's weekly partitions, on PostgreSQL: made ahead, dropped when retention has emptied them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from holdfast.kernel.policy import DAY_MS

WEEK_MS = 7 * DAY_MS


def week_of(at_ms: int) -> tuple[str, int]:
    """The name of the partition for a time, and when its week begins: Monday, by UTC."""
    day = datetime.fromtimestamp(at_ms / 1000, UTC).date()
    monday = day - timedelta(days=day.weekday())
    year, week, _ = monday.isocalendar()
    low = datetime(monday.year, monday.month, monday.day, tzinfo=UTC)
    return f"holdfast_event_{year:04d}w{week:02d}", int(low.timestamp()) * 1000


class Week(NamedTuple):
    """One partition: its name, and the times that it takes."""

    name: str
    low_ms: int
    high_ms: int


def wanted(now_ms: int, weeks: int) -> list[Week]:
    """This week's partition and those of the coming `weeks`."""
    found = []
    for ahead in range(weeks + 1):
        name, low_ms = week_of(now_ms + ahead * WEEK_MS)
        found.append(Week(name, low_ms, low_ms + WEEK_MS))
    return found
