"""How far a job is, by its handler's own word."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from holdfast.kernel.payload.encoding import sanitise


class Progress:
    """How far a job is. Written by the handler, read by the worker's loop: plain fields, no lock."""

    __slots__ = ("_first", "changed", "counters", "done", "label", "spoken", "started_s", "total")

    def __init__(self) -> None:
        self.done: float = 0
        self.total: float | None = None
        self.label: str | None = None
        self.counters: dict[str, float] = {}
        self.started_s = time.monotonic()
        self.changed = False
        """Since it was last sent on."""
        self.spoken = False
        """Ever."""
        self._first: tuple[float, float] | None = None

    def at(self, done: float, total: float | None) -> None:
        if self._first is None:
            self._first = (time.monotonic(), done)
        self.done = done
        if total is not None:
            self.total = total
        self.changed = self.spoken = True

    def add(self, counters: Mapping[str, float]) -> None:
        for name, more in counters.items():
            self.counters[name] = self.counters.get(name, 0) + more
        self.changed = self.spoken = True

    def values(self) -> list[Any]:
        """What another process needs for a copy."""
        return [self.done, self.total, self.label, dict(self.counters)]

    def take(self, done: float, total: float | None, label: str | None, counters: dict[str, float]) -> None:
        self.at(done, total)
        self.label, self.counters = label, counters

    def eta_s(self) -> float | None:
        """What is left, at the pace since the first word: a job that goes on half-way has not done that half now."""
        if self.total is None or self._first is None:
            return None
        since_s, at_first = self._first
        if self.done <= at_first:
            return None
        pace = (time.monotonic() - since_s) / (self.done - at_first)
        return round(max(0.0, pace * (self.total - self.done)), 1)

    def to_json(self) -> str:
        counters = dict(self.counters) | {"duration_seconds": round(time.monotonic() - self.started_s, 3)}
        document = {"done": self.done, "total": self.total, "eta_seconds": self.eta_s(), "counters": counters}
        # Sanitised: a counter that is no number is the handler's mistake, and not worth its job.
        return sanitise(document | ({"label": self.label} if self.label else {}))
