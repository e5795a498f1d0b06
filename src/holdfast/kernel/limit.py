"""Limits over all workers together: so many at once, so many starts in a time, for all jobs behind one gate."""

from __future__ import annotations

from typing import Any, NamedTuple

SECOND_US = 1_000_000
UNITS_US = {"s": SECOND_US, "m": 60 * SECOND_US, "h": 3_600 * SECOND_US, "d": 86_400 * SECOND_US}


class NamedLimit(NamedTuple):
    """What holds for the jobs behind a gate: how many may run at once, and how far apart they start.

    `interval_us` lies between two starts in the long run; `burst` starts may come at once before that.
    """

    name: str
    running: int | None = None
    interval_us: int | None = None
    burst: int = 1

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if value is not None}

    def room(self, held: int, now_us: int, next_us: int) -> int | None:
        """How many jobs may start now, of which `held` run and the next was due at `next_us`; None is no limit."""
        rooms = []
        if self.running is not None:
            rooms.append(max(0, self.running - held))
        if self.interval_us is not None:
            ahead_us = max(next_us - now_us, 0)
            rooms.append(max(0, self.burst * self.interval_us - ahead_us) // self.interval_us)
        return min(rooms) if rooms else None

    def spent(self, starts: int, now_us: int, next_us: int) -> int:
        """When the next start is due after these."""
        return max(next_us, now_us) + starts * (self.interval_us or 0)

    def opens_us(self, now_us: int, next_us: int) -> int:
        """When the rate lets another job start."""
        interval_us = self.interval_us or 0
        return max(now_us, next_us - (self.burst - 1) * interval_us)


def limit_of(options: dict[str, Any]) -> NamedLimit | None:
    """The gate that a job's options name."""
    limit = options.get("limit")
    return NamedLimit(**limit) if limit else None


def interval_us(rate: str) -> int:
    """The time between two starts of a rate such as "10/s", "30/m" or "0.5/s"; ValueError for anything else."""
    count, _, unit = rate.replace(" ", "").partition("/")
    starts = float(count)
    if unit not in UNITS_US or not 0 < starts <= 1_000_000:
        raise ValueError(rate)
    return max(1, round(UNITS_US[unit] / starts))
