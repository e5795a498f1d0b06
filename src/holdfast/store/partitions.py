"""The log's weekly partitions, on PostgreSQL: made ahead, dropped when retention has emptied them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from holdfast.kernel.policy import DAY_MS
from holdfast.store.script import Query, Script

WEEK_MS = 7 * DAY_MS


def week_of(at_ms: int) -> tuple[str, int]:
    """The name of the partition for a time, and when its week begins: Monday, by UTC."""
    day = datetime.fromtimestamp(at_ms / 1000, UTC).date()
    monday = day - timedelta(days=day.weekday())
    year, week, _ = monday.isocalendar()
    low = datetime(monday.year, monday.month, monday.day, tzinfo=UTC)
    return f"holdfast_event_{year:04d}w{week:02d}", int(low.timestamp()) * 1000


def ensure(now_ms: int, weeks: int) -> Script[list[str]]:
    """Make what is missing of this week's partition and those of the coming `weeks`; the names of the new ones."""
    have = {row[0] for row in (yield Query("partitions"))}
    made = []
    for ahead in range(weeks + 1):
        name, low_ms = week_of(now_ms + ahead * WEEK_MS)
        if name in have:
            continue
        params = {"name": name, "low_ms": low_ms, "high_ms": low_ms + WEEK_MS}
        [(new,)] = yield Query("add_partition", params)
        made += [name] if new else []
    return made


def drop_empty(now_ms: int) -> Script[list[str]]:
    """Drop the partitions of past weeks that hold nothing any more."""
    this_week, _ = week_of(now_ms)
    dropped = []
    for (name,) in (yield Query("partitions")):
        if name < this_week:
            [(gone,)] = yield Query("drop_partition", {"name": name})
            dropped += [name] if gone else []
    return dropped
