"""When a schedule ticks: cron expressions in a time zone, days of changing clocks included.

Five fields, or six with seconds first. Where the clocks change it is as Debian's cron does it: a schedule at set
times ("30 2 * * *") ticks exactly once a day, at the first moment that exists when its own does not, and at the first
of two when it comes twice; one that says `*` in its minutes or hours ("*/15 * * * *") follows real time, and so
ticks in every hour that happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from holdfast.kernel.errors import HoldfastError

HOUR_MS = 3_600_000
WINDOWS_MS = (HOUR_MS, 24 * HOUR_MS, 32 * 24 * HOUR_MS, 400 * 24 * HOUR_MS)


class Cron:
    """HoldfastError that names the field when the expression or the time zone is none."""

    def __init__(self, expression: str, timezone: str = "UTC") -> None:
        self.expression = expression
        try:
            self._zone = UTC if timezone == "UTC" else ZoneInfo(timezone)
        except (KeyError, ValueError, OSError):
            raise HoldfastError(
                f"timezone is {timezone!r}",
                field="timezone",
                remedy='a name such as "Europe/Berlin"; on a machine without time zones, install tzdata',
            ) from None
        try:
            CronSim(expression, datetime.now(UTC))
        except (CronSimError, AttributeError) as error:
            raise HoldfastError(
                f"cron is {expression!r}: {error}",
                field="cron",
                remedy='five fields such as "0 3 * * *", or six with seconds first',
            ) from None

    def ticks(self, after_ms: int) -> Iterator[int]:
        """Every tick behind a time, in order."""
        # Whatever the clocks do on the wall, time goes forward.
        for tick in CronSim(self.expression, datetime.fromtimestamp(after_ms / 1_000, self._zone)):
            tick_ms = round(tick.timestamp() * 1_000)
            if tick_ms > after_ms:
                yield tick_ms
                after_ms = tick_ms

    def next(self, after_ms: int) -> int:
        """The first tick behind a time."""
        for tick_ms in self.ticks(after_ms):
            return tick_ms
        raise HoldfastError(f"cron {self.expression!r} never comes", field="cron", remedy="name a day that exists")

    def between(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        """The first ticks behind one time and up to another."""
        found: list[int] = []
        for tick_ms in self.ticks(after_ms):
            if tick_ms > until_ms or len(found) == limit:
                break
            found.append(tick_ms)
        return found

    def last(self, after_ms: int, until_ms: int) -> int | None:
        """The last tick behind one time and up to another, without counting all that lie between."""
        for window_ms in WINDOWS_MS:
            if until_ms - window_ms > after_ms and (found := self._last(until_ms - window_ms, until_ms)):
                return found
        return self._last(after_ms, until_ms)

    def _last(self, after_ms: int, until_ms: int) -> int | None:
        found = None
        for tick_ms in self.ticks(after_ms):
            if tick_ms > until_ms:
                break
            found = tick_ms
        return found
