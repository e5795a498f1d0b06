"""The latest events of the log, as they are sent: many read them, each from a position of its own."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.kernel.event import Event
from holdfast.store.port import Origin

EVENTS = 8_192
BYTES = 16 * 1024 * 1024
SPARE = 512
"""Removed in blocks: one at a time would move the whole list each time."""


class Told(NamedTuple):
    """An event, whose it is, and its text on the wire: made once, however many read it."""

    event: Event
    origin: Origin | None
    text: bytes


class Ring:
    """Holds everything behind `floor` up to `position`, and is bounded in events and in bytes."""

    def __init__(self, start: int, *, events: int = EVENTS, bytes_: int = BYTES) -> None:
        self.floor = start
        self.position = start
        self._told: list[Told] = []
        self._positions: list[int] = []
        self._events, self._bytes, self._held = events, bytes_, 0

    def add(self, told: Sequence[Told]) -> None:
        self._told += told
        self._positions += [each.event.pos for each in told]
        self._held += sum(len(each.text) for each in told)
        if told:
            self.position = self._positions[-1]
        spare = min(SPARE, self._events)
        while len(self._told) > self._events + spare or self._held > self._bytes:
            gone = min(spare, len(self._told))
            self.floor = self._positions[gone - 1]
            self._held -= sum(len(each.text) for each in self._told[:gone])
            del self._told[:gone], self._positions[:gone]

    def after(self, position: int, limit: int) -> list[Told] | None:
        """The next events behind a position; None when some of them are no longer here."""
        if position < self.floor:
            return None
        first = bisect_right(self._positions, position)
        return self._told[first : first + limit]
