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


class RingEntry(NamedTuple):
    """An event, whose it is, and its text on the wire: made once, however many read it."""

    event: Event
    origin: Origin | None
    text: bytes


class Ring:
    """Holds everything behind `floor` up to `position`, and is bounded in events and in bytes."""

    def __init__(self, start: int, *, events: int = EVENTS) -> None:
        self.begins_behind = start
        self.position = start
        self._entries: list[RingEntry] = []
        self._positions: list[int] = []
        self._events, self._held = events, 0

    def add(self, entries: Sequence[RingEntry]) -> None:
        self._entries += entries
        self._positions += [each.event.pos for each in entries]
        self._held += sum(len(each.text) for each in entries)
        if entries:
            self.position = self._positions[-1]
        spare = min(SPARE, self._events)
        while len(self._entries) > self._events + spare or self._held > BYTES:
            gone = min(spare, len(self._entries))
            self.begins_behind = self._positions[gone - 1]
            self._held -= sum(len(each.text) for each in self._entries[:gone])
            del self._entries[:gone], self._positions[:gone]

    def after(self, position: int, limit: int) -> list[RingEntry] | None:
        """The next events behind a position; None when some of them are no longer here."""
        if position < self.begins_behind:
            return None
        first = bisect_right(self._positions, position)
        return self._entries[first : first + limit]
