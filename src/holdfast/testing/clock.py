"""Time that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime

from holdfast.kernel.errors import HoldfastError
from holdfast.tasks.durations import Duration, duration_ms

START_MS = 1_767_225_600_000
"""The first moment of 2026: a start that is the same in every run."""


class MovableClock:
    """Call it for the time in milliseconds since 1970; `advance` moves it. It never goes back."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def __repr__(self) -> str:
        return f"<clock at {self.now.isoformat()}>"

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.now_ms / 1_000, UTC)

    def advance(self, by: Duration) -> int:
        """Move on by "5m", "250ms", seconds or a timedelta; the new time."""
        self.now_ms += duration_ms(by, "by")
        return self.now_ms

    def advance_to(self, when: datetime | int) -> int:
        """Move on to an aware datetime or a time in milliseconds."""
        if isinstance(when, datetime) and when.tzinfo is None:
            raise HoldfastError("when has no time zone", field="when", remedy="pass an aware datetime")
        when_ms = round(when.timestamp() * 1_000) if isinstance(when, datetime) else when
        if when_ms < self.now_ms:
            raise HoldfastError(
                f"{when_ms} lies {self.now_ms - when_ms} ms back", field="when", remedy="the clock only moves forward"
            )
        self.now_ms = when_ms
        return self.now_ms
